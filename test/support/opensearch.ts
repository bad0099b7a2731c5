/**
 * Real OpenSearch nodes for a test file, in a temporary folder, ended with it. The program is fetched once and kept
 * beside the installed packages.
 */
import { spawnSync } from "node:child_process"
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, statSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { opensearchFolder, resolveOpensearch } from "../../src/cli/opensearch-assembly.ts"
import { startOpensearch } from "../../src/cli/opensearch-node.ts"

export const opensearchProgramFolder = fileURLToPath(
  new URL("../../node_modules/.cache/dowser-opensearch", import.meta.url)
)

/** The user that root starts nodes as, because they refuse to run as root. */
const NODE_USER = { uid: 65_534, gid: 65_534 }

/** The outermost folder on the way to `path` that a user cannot enter. */
export const folderClosedTo = ({ gid, uid }: typeof NODE_USER, path: string): string | undefined => {
  const parent = dirname(path)
  const above = parent === path ? undefined : folderClosedTo({ gid, uid }, parent)
  if (above !== undefined) return above
  const { gid: group, mode, uid: owner } = statSync(path)
  const passes = uid === owner ? 0o100 : gid === group ? 0o010 : 0o001
  return (mode & passes) === 0 ? path : undefined
}
/** The first folder that keeps nodes from reading their program, such as root's home above a clone. */
const closedToNodes = (): string | undefined => {
  if (process.getuid?.() !== 0) return undefined
  const folders = [opensearchProgramFolder, tmpdir()].map((folder) => realpathSync(folder))
  const closed = folders.map((folder) => folderClosedTo(NODE_USER, folder)).find((folder) => folder !== undefined)
  return closed === undefined
    ? undefined
    : `the OpenSearch lane started by root runs its nodes as user ${NODE_USER.uid}, who may not pass ${closed}: \`chmod o+x ${closed}\`, or run it as another user`
}

/** Why the OpenSearch lane cannot run here; undefined if it can. Fetches the program if it is missing. */
export const opensearchMissing = (): string | undefined => {
  if (spawnSync("java", ["-version"]).status !== 0)
    return "the OpenSearch lane needs Java 17 (`java` cannot be run here)"
  try {
    // An earlier bench may have created it with a restrictive umask, and nodes run as another user.
    mkdirSync(opensearchProgramFolder, { recursive: true })
    for (const folder of [dirname(opensearchProgramFolder), opensearchProgramFolder]) chmodSync(folder, 0o755)
    const closed = closedToNodes()
    if (closed !== undefined) return closed
    resolveOpensearch(opensearchProgramFolder, () => {})
    return undefined
  } catch (error) {
    return `the OpenSearch lane cannot have its program: ${(error as Error).message}`
  }
}

/** Links the program into a folder of another program, which would otherwise fetch its own. */
export const linkProgram = (folder: string): void => {
  symlinkSync(join(opensearchProgramFolder, opensearchFolder), join(folder, opensearchFolder))
}

type Started = Awaited<ReturnType<typeof startOpensearch>>
interface TestCluster {
  readonly nodes: ReadonlyArray<string>
  /** The same, to be ended one by one. */ readonly started: Started["nodes"]
  readonly stop: () => Promise<void>
}
export const startTestCluster = async (nodes = 1, heap_mb?: number): Promise<TestCluster> => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-opensearch-"))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    const cluster = await startOpensearch({
      folder,
      programFolder: opensearchProgramFolder,
      nodes,
      port: 0,
      isShortLived: true,
      ...(heap_mb === undefined ? {} : { heap_mb }),
      report: () => {}
    })
    return {
      nodes: cluster.nodes.map(({ address }) => address),
      started: cluster.nodes,
      stop: async () => {
        await cluster.stop()
        remove()
      }
    }
  } catch (error) {
    remove()
    throw error
  }
}
