/**
 * Documents that the writer has published before they are on disk, kept here until it reports that they can be read.
 * Bounded by the writes that are waiting for their answers, because each is answered only after that.
 */
import type { EarlyTexts } from "../index/reader.ts"
import type { DocumentReads } from "./engine-parts.ts"

export class EarlyReads implements DocumentReads {
  private readonly reads: DocumentReads
  private readonly early = new Map<number, Map<number, { readonly batch: number; readonly text: string }>>()
  constructor(reads: DocumentReads) {
    this.reads = reads
  }
  text(key: number, seq: number): string | undefined {
    return this.early.get(key)?.get(seq)?.text ?? this.reads.text(key, seq)
  }
  bytes(key: number): number {
    return this.reads.bytes(key)
  }
  refresh(): void {
    this.reads.refresh()
  }
  keep(key: number, { batch, texts }: EarlyTexts): void {
    let own = this.early.get(key)
    if (own === undefined) this.early.set(key, (own = new Map()))
    for (const [seq, text] of texts) own.set(seq, { batch, text })
  }
  readable(key: number, batch: number): void {
    this.reads.refresh()
    const own = this.early.get(key)
    if (own !== undefined) for (const [seq, kept] of own) if (kept.batch <= batch) own.delete(seq)
  }
  forget(key: number): void {
    this.early.delete(key)
  }
  earlyTexts(key: number): EarlyTexts["texts"] {
    return [...(this.early.get(key) ?? [])].map(([seq, { text }]) => [seq, text] as const)
  }
}
