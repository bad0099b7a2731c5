/** Reading documents in other threads: from the same folder, read-only. */
import { collectionKey, type Counters, type Databases, openDatabases, textOf } from "./lmdb-databases.ts"

/** Documents as another thread reads them. */
export class LmdbReads {
  private readonly databases: Databases
  private readonly keyBytes = Buffer.alloc(10)
  private constructor(databases: Databases) {
    this.databases = databases
  }
  static async open(path: string): Promise<LmdbReads> {
    return new LmdbReads(await openDatabases(path, true))
  }
  text(key: number, seq: number): string | undefined {
    this.keyBytes.writeUInt32BE(key)
    this.keyBytes.writeUIntBE(seq, 4, 6)
    const bytes = this.databases.documents.getBinaryFast(this.keyBytes)
    return bytes === undefined ? undefined : textOf(bytes)
  }
  bytes(key: number): number {
    const found = this.databases.records.getBinaryFast(Buffer.concat([Buffer.from("n"), collectionKey(key)]))
    return found === undefined ? 0 : (JSON.parse(textOf(found)) as Counters).bytes
  }
  /** Without this, a read transaction may be older than the commit that a publication refers to. */
  refresh(): void {
    this.databases.env.resetReadTxn()
  }
  async close(): Promise<void> {
    await this.databases.env.close()
  }
}
