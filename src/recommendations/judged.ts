/** The quality of a model's answers: the position of the item that actually came next in each answer. */
export class Judged {
  cases = 0
  #hits = 0
  #ranks = 0
  #gains = 0
  readonly shown = new Set<string>()
  add(top: ReadonlyArray<string>, target: string): void {
    this.cases++
    for (const id of top) this.shown.add(id)
    const rank = top.indexOf(target)
    if (rank < 0) return
    this.#hits++
    this.#ranks += 1 / (rank + 1)
    if (rank < 10) this.#gains += 1 / Math.log2(rank + 2)
  }
  get figures() {
    const mean = (sum: number) => Math.round((10_000 * sum) / Math.max(1, this.cases)) / 10_000
    return { hr_at_20: mean(this.#hits), mrr_at_20: mean(this.#ranks), ndcg_at_10: mean(this.#gains) }
  }
}
