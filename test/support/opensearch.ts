/**
 * Real nodes of OpenSearch for a test file, in a temporary folder, ended with it. The program is fetched once and kept
 * beside the installed packages.
 */
import { spawnSync } from "node:child_process"
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { opensearchVersion, resolveOpensearch } from "../../src/cli/opensearch-assembly.ts"
import { startOpensearch } from "../../src/cli/opensearch-node.ts"

export const opensearchProgramFolder = fileURLToPath(
  new URL("../../node_modules/.cache/dowser-opensearch", import.meta.url)
)

/** Why the OpenSearch lane cannot run here; undefined when it can. Fetches the program when it is not there yet. */
export const opensearchMissing = (): string | undefined => {
  if (spawnSync("java", ["-version"]).status !== 0)
    return "the OpenSearch lane needs Java 17 (`java` cannot be run here)"
  try {
    // A bench that came first may have made it as a process that keeps to itself, and nodes run as somebody else.
    mkdirSync(dirname(opensearchProgramFolder), { recursive: true })
    chmodSync(dirname(opensearchProgramFolder), 0o755)
    resolveOpensearch(opensearchProgramFolder, () => {})
    return undefined
  } catch (error) {
    return `the OpenSearch lane cannot have its program: ${(error as Error).message}`
  }
}

/** For programs that would fetch their own. */
export const linkProgram = (folder: string): void => {
  const name = `opensearch-${opensearchVersion}`
  symlinkSync(join(opensearchProgramFolder, name), join(folder, name))
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
