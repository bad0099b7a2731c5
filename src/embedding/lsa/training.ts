/**
 * Trains a model on the texts of a collection (latent semantic analysis: logarithm of counts × inverse document
 * frequency, keeping the 64 strongest directions). The same texts in the same order give the same bytes. Cost: 8 ×
 * entries × 72: 1.3 s for 19,406 product texts, 8 s for 50,000 of 665 characters; memory is limited by the constants
 * below.
 */
import { IntList } from "../../texts/int-list.ts"
import { gramOf, type SparseRows, strongestVectors } from "../../texts/linear.ts"
import { featuresOf } from "../../ports/text-embedder/lsa/features.ts"
import { CHARACTERS_MAX, DIMENSIONS, type Trained } from "../../ports/text-embedder/lsa/model.ts"

const SEED = 1
const FEATURES_MAX = 20_000
/** A feature in most texts carries no information. */
const COMMON_SHARE = 0.3,
  COMMON_MIN = 20
/** Limit of features tracked while reading; later ones are not learned. */
const MET_MAX = 400_000
/** Limits of distinct features per text, and of entries in total. */
const OF_TEXT_MAX = 600,
  ENTRIES_MAX = 8_000_000

/** How many texts must share a feature; in small collections, every text counts. */
const textsMin = (texts: number): number => (texts < 50 ? 1 : texts < 5_000 ? 2 : 3)

export class LsaTraining {
  readonly #ids = new Map<string, number>()
  readonly #met: Array<string> = []
  readonly #frequencies = new IntList()
  /** By text: pairs of a feature and its count. */ readonly #entries = new IntList()
  readonly #starts = new IntList()
  #characters = 0

  add(text: string): void {
    if (this.#entries.length >= 2 * ENTRIES_MAX) return
    this.#starts.push(this.#entries.length)
    this.#characters += text.length
    const counts = new Map<number, number>()
    for (const feature of featuresOf(text.slice(0, CHARACTERS_MAX))) {
      const id = this.#idOf(feature)
      const known = counts.get(id)
      if (id >= 0 && (known !== undefined || counts.size < OF_TEXT_MAX)) counts.set(id, (known ?? 0) + 1)
    }
    for (const [id, n] of counts) {
      this.#frequencies.add(id, 1)
      this.#entries.push(id)
      this.#entries.push(n)
    }
  }
  #idOf(feature: string): number {
    const known = this.#ids.get(feature)
    if (known !== undefined) return known
    if (this.#met.length >= MET_MAX) return -1
    this.#ids.set(feature, this.#met.length)
    this.#frequencies.push(0)
    return this.#met.push(feature) - 1
  }

  trained(): Trained {
    const documents = this.#starts.length
    const characters = documents === 0 ? 0 : Math.round(this.#characters / documents)
    const chosen = this.#chosen(documents)
    const rarity = chosen.map((id) => Math.log((documents + 1) / (this.#frequencies.at(id) + 0.5)))
    const directions = strongestVectors(gramOf(this.#matrix(chosen, rarity), chosen.length), DIMENSIONS, {
      power: 0,
      seed: SEED
    })
    // With fewer features than dimensions there are fewer directions; the rest of a vector is 0.
    const vectors = directions.map((x, i) => x * rarity[Math.floor(i / DIMENSIONS)]!)
    return { documents, characters, features: chosen.map((id) => this.#met[id]!), vectors }
  }
  /** The learned features, the most frequent first. */
  #chosen(documents: number): ReadonlyArray<number> {
    const [least, most] = [textsMin(documents), Math.max(COMMON_MIN, COMMON_SHARE * documents)]
    const of = (id: number): number => this.#frequencies.at(id)
    return this.#met
      .map((_, id) => id)
      .filter((id) => of(id) >= least && of(id) <= most)
      .sort((a, b) => of(b) - of(a) || (this.#met[a]! < this.#met[b]! ? -1 : 1))
      .slice(0, FEATURES_MAX)
  }
  /** A row for each text, normalized to length one. */
  #matrix(chosen: ReadonlyArray<number>, rarity: ReadonlyArray<number>): SparseRows {
    const place = new Int32Array(this.#met.length).fill(-1)
    for (const [i, id] of chosen.entries()) place[id] = i
    const documents = this.#starts.length
    const starts = new Int32Array(documents + 1)
    const columns = new Int32Array(this.#entries.length >> 1)
    const values = new Float32Array(this.#entries.length >> 1)
    let size = 0
    for (let document = 0; document < documents; document++) {
      const end = document + 1 < documents ? this.#starts.at(document + 1) : this.#entries.length
      let square = 0
      for (let at = this.#starts.at(document); at < end; at += 2) {
        const column = place[this.#entries.at(at)]!
        if (column < 0) continue
        columns[size] = column
        values[size] = (1 + Math.log(this.#entries.at(at + 1))) * rarity[column]!
        square += values[size++]! ** 2
      }
      const length = Math.sqrt(square) || 1
      for (let at = starts[document]!; at < size; at++) values[at]! /= length
      starts[document + 1] = size
    }
    return { starts, columns, values }
  }
}
