/** Reads the links of a graph as the library writes them: through a file, because it offers no other way. */
import { MATRIX_HEAD_BYTES } from "../index/graph-layout.ts"
import type { NativeGraph } from "../index/vector-graph.ts"

/** Prefix of folders that a killed process may leave in the folder of graphs. */
export const LINKS_FOLDER = "links-"
/** Reads the links and frees the library's memory. `folder`: used if given; else the system's temporary folder. */
export const linksOf = async ({ empty, index }: NativeGraph, folder: string | undefined): Promise<Uint8Array> => {
  // Imported here, because an in-memory engine may run without a file system and then has no graphs.
  const { mkdtemp, open, rm } = await import("node:fs/promises"),
    { tmpdir } = await import("node:os"),
    { join } = await import("node:path")
  const own = await mkdtemp(join(folder ?? tmpdir(), LINKS_FOLDER)),
    path = join(own, "links")
  try {
    index.save(path)
    empty.save(`${path}.empty`)
    // An empty index frees the memory, which would otherwise stay until the garbage collector runs.
    index.load(`${path}.empty`)
    const file = await open(path, "r")
    try {
      const head = new Uint8Array(MATRIX_HEAD_BYTES)
      await file.read(head, 0, head.length, 0)
      const view = new DataView(head.buffer),
        from = head.length + view.getUint32(0, true) * view.getUint32(4, true)
      const bytes = new Uint8Array((await file.stat()).size - from)
      for (let done = 0; done < bytes.length;) {
        const { bytesRead } = await file.read(bytes, done, bytes.length - done, from + done)
        if (bytesRead === 0) throw new Error("the library's file ends too early")
        done += bytesRead
      }
      return bytes
    } finally {
      await file.close()
    }
  } finally {
    await rm(own, { recursive: true, force: true })
  }
}
