/** One suite, all lanes: lanes that need a server start it themselves or are skipped by name. */
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** The packages of this repository are read from their sources. */
const conditions = ["dowser-source", "node", "import", "module", "default"]

/** Files that put modules of their own in place of others, which those after them would meet. */
const mocking = [
  "test/http/body-decoders.test.ts",
  "test/ports/outbound-http-rebinding.test.ts",
  "test/program/hostile-site.test.ts"
]

/** Files that take a minute and more, most of it waiting: they begin while others are there to work beside them. */
const longest = [
  "program/without-postgres",
  "program/costly",
  "program/fuzz",
  "program/private-files",
  "program/ingest-kill",
  "program/crawl-kill",
  "program/backup",
  "ports/event-log-kafka",
  "program/limits",
  "program/front-door",
  "ports/engine-opensearch",
  "ports/opensearch-cluster",
  "browser/accessibility",
  "program/together",
  "program/engine-typesense",
  "program/distributed",
  "program/remote-engine",
  "program/memory",
  "relevance/judged-sets",
  "streams/simulation"
]
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = longest.findIndex((name) => moduleId.includes(name))
      return at < 0 ? longest.length : at
    }
    return (await super.sort(files)).sort((a, b) => place(a) - place(b))
  }
}

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    globalSetup: ["test/support/run-folder.ts"],
    setupFiles: ["test/support/plain-fibers.ts"],
    pool: "forks",
    // Two cores: a fourth worker made nothing faster, and waits of tests longer.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    // Of a test that says nothing else: one that starts programs beside clusters of others waits for the processor.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    reporters: ["default", "./scripts/plain-reporter.mjs"],
    projects: [
      {
        extends: true,
        test: {
          name: "suite",
          include: [
            "test/**/*.test.ts",
            "engine-sdk/test/**/*.test.ts",
            "streams/**/*.test.ts",
            "fixtures/**/*.test.ts",
            "bench/**/*.test.ts"
          ],
          exclude: mocking,
          // Files of a worker share their modules: loading and compiling them anew took a third of the processor.
          isolate: false
        }
      },
      { extends: true, test: { name: "mocking", include: mocking } }
    ]
  }
})
