// The mutation lane, `npm run mutants [part of a name]`: plants the faults of `test/mutants/faults.mjs` one at a time
// in a copy of the project, runs the tests that should catch each, and prints which did. Not in CI, as it takes
// minutes. It fails if a fault survives, if its text does not occur exactly once, or if it breaks more than it should
// (nothing could run).
import { spawn, spawnSync } from "node:child_process"
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { faults } from "../test/mutants/faults.mjs"
import { misfits, planted } from "../test/mutants/plant.mjs"
import { linkPackages } from "./link-packages.mjs"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const RUN_MAX_MS = 10 * 60_000
/**
 * Schedules of the simulation, half of them in each of its files: enough for these faults, and all would take minutes.
 */
const DOWSER_SIMULATION_SCHEDULES = "4000"
/** Limit of a test's output, which is read for its count and its first failure. */
const OUTPUT_CHARACTERS_MAX = 2_000_000

const words = process.argv.slice(2)
const wanted = faults.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)))
if (wanted.length === 0) fail(`No fault is called ${words.join(" or ")}.`)
const problems = misfits(faults, (file) => readFileSync(join(root, file), "utf8"))
if (problems.length > 0) fail(problems.join("\n"))

const folder = mkdtempSync(join(tmpdir(), "dowser-mutants-"))
const copy = join(folder, "copy")
process.on("exit", () => rmSync(folder, { recursive: true, force: true }))
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(130))
makeCopy()

process.stdout.write("Without a fault, all of these tests must pass ...\n")
const selections = new Map(wanted.map(({ only, tests }) => [JSON.stringify([tests, only]), { only, tests }]))
const whole = [...new Set([...selections.values()].flatMap(({ only, tests }) => (only === undefined ? tests : [])))]
for (const { only, tests } of [
  ...(whole.length > 0 ? [{ tests: whole }] : []),
  ...[...selections.values()].filter(({ only }) => only !== undefined)
]) {
  const { code, firstFailure, passed } = await run(tests, only)
  if (code !== 0 || passed === 0)
    fail(
      `Without a fault ${tests.join(", ")}${only === undefined ? "" : ` -t "${only}"`} ${code === 0 ? "runs no test" : "fails"}, so it says nothing: ${firstFailure ?? ""}`
    )
}

const rows = []
for (const fault of wanted) {
  const path = join(copy, fault.file)
  const text = readFileSync(path, "utf8")
  writeFileSync(path, planted(text, fault))
  const { code, failed, firstFailure, isLate, seconds } = await run(fault.tests, fault.only)
  writeFileSync(path, text)
  // A fault that keeps every test from running proves nothing about any of them.
  const verdict = isLate
    ? "NO END"
    : code === 0
      ? "NOT CAUGHT"
      : failed > 0 && firstFailure !== undefined
        ? "caught"
        : "DOES NOT RUN"
  rows.push({ name: fault.name, verdict })
  process.stdout.write(
    `${verdict.padEnd(13)}${`${seconds} s`.padStart(6)}  ${fault.name}: ${fault.why}\n${firstFailure === undefined ? "" : `${" ".repeat(21)}${firstFailure}\n`}`
  )
}
const caught = rows.filter(({ verdict }) => verdict === "caught").length
process.stdout.write(
  `\n${caught} of ${rows.length} faults caught${
    caught === rows.length
      ? ""
      : `; not: ${rows
          .filter(({ verdict }) => verdict !== "caught")
          .map(({ name, verdict }) => `${name} (${verdict})`)
          .join(", ")}`
  }\n`
)
process.exit(caught === rows.length ? 0 : 1)

function fail(sentence) {
  process.stderr.write(sentence + "\n")
  process.exit(1)
}

/** What git tracks and what is new, in its present state; dependencies are the installed ones. */
function makeCopy() {
  const listed = spawnSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64_000_000
  })
  if (listed.status !== 0) fail("`git ls-files` failed: the mutation lane runs in a clone.")
  for (const file of listed.stdout.split("\0").filter((name) => name !== "")) {
    mkdirSync(dirname(join(copy, file)), { recursive: true })
    // Deleted here and not committed yet.
    try {
      copyFileSync(join(root, file), join(copy, file))
    } catch (error) {
      if (error.code !== "ENOENT") throw error
    }
  }
  linkPackages(root, copy)
  // Older than the installation, because otherwise the copy would reinstall into the real folder.
  utimesSync(join(copy, "package-lock.json"), 0, 0)
}

function run(files, only) {
  const began = Date.now()
  return new Promise((settle) => {
    const child = spawn(
      process.execPath,
      [join(copy, "scripts", "bootstrap.mjs"), "test", ...files, ...(only === undefined ? [] : ["-t", only])],
      {
        cwd: copy,
        env: { DOWSER_SIMULATION_SCHEDULES, ...process.env, INIT_CWD: copy, NO_COLOR: "1", FORCE_COLOR: "0" },
        stdio: ["ignore", "pipe", "pipe"]
      }
    )
    let output = "",
      isLate = false
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (part) => {
        if (output.length < OUTPUT_CHARACTERS_MAX) output += part
      })
    const timer = setTimeout(() => {
      isLate = true
      child.kill("SIGTERM")
    }, RUN_MAX_MS)
    child.on("close", (code) => {
      clearTimeout(timer)
      settle({
        code,
        isLate,
        passed: Number(/^(\d+) passed, \d+ failed/m.exec(output)?.[1] ?? 0),
        failed: Number(/^\d+ passed, (\d+) failed/m.exec(output)?.[1] ?? 0),
        seconds: Math.round((Date.now() - began) / 1000),
        // The first line of the error, after the name of the test.
        firstFailure: /^\s*FAIL .* > .*\n+(.*)/m.exec(output)?.[1]?.trim().slice(0, 300)
      })
    })
  })
}
