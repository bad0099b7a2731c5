/** One suite, all lanes: lanes that need a server start it themselves or are skipped by name. */
import { defineConfig } from "vitest/config"

/** The packages of this repository are read from their sources. */
const conditions = ["dowser-source", "node", "import", "module", "default"]

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: conditions } },
  test: {
    include: [
      "test/**/*.test.ts",
      "engine-sdk/test/**/*.test.ts",
      "streams/**/*.test.ts",
      "fixtures/**/*.test.ts",
      "bench/**/*.test.ts"
    ],
    globalSetup: ["test/support/run-folder.ts"],
    pool: "forks",
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    reporters: ["default", "./scripts/plain-reporter.mjs"]
  }
})
