/** The parts of sealed runs: blocks, filters, sorted files, and the decisions about which runs to merge. */
import { assert, describe, it } from "vitest"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { runtimeCommand } from "../../bench/harness/program.ts"
import { makeRandom } from "../../fixtures/random.ts"
import { answerOf, fingerprintsOf } from "../../src/ports/dedupe/admission.ts"
import { eachRow, organizationTag, wordsOf } from "../../src/ports/dedupe/block.ts"
import {
  chooseMerge,
  choosePrune,
  fairLevel,
  gapsOf,
  replacedRuns,
  type RunSize
} from "../../src/ports/dedupe/compaction.ts"
import { openRun, SealedRun } from "../../src/ports/dedupe/run-file.ts"
import { PAGE_ROWS, ROW_WORDS } from "../../src/ports/dedupe/run-format.ts"
import { RunStore, type RunStoreOptions } from "../../src/ports/dedupe/run-store.ts"
import { compareRows, sortRows } from "../../src/ports/dedupe/sort-rows.ts"
import { filterAdd, filterMayHave, filterScale, filterWords } from "../../src/ports/dedupe/split-block-filter.ts"
import { type FingerprintKey, narrowKey } from "../../log/fingerprint.ts"
import { simulatedDiskMissing } from "../support/simulated-disk.ts"

const key: FingerprintKey = [1, 2, 3, 4]
const inFolder = (body: (folder: string) => void) => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-runs-"))
  try {
    body(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
const printsOf = (prefix: string, count: number) =>
  fingerprintsOf(key, [{ organizationId: "one", eventIds: Array.from({ length: count }, (_, i) => `${prefix}-${i}`) }])
    .words

describe("a block", () => {
  it("names the organization of every row, however many of a request's ids were not new", () => {
    const chance = makeRandom(3)
    for (let round = 0; round < 200; round++) {
      const requests = Array.from({ length: 1 + chance.below(6) }, () => ({
        organizationId: `org-${chance.below(3)}`,
        eventIds: Array.from({ length: chance.below(4) }, (_, i) => `${i}`)
      }))
      const asked = fingerprintsOf(key, requests)
      const fresh = Array.from({ length: asked.total }, () => chance.chance(0.5))
      const { block, seen } = answerOf(asked, (_, __, id) => fresh[id]!)
      assert.deepEqual(
        seen.flatMap((flags) => [...flags]),
        fresh.map((is) => (is ? 0 : 1))
      )
      const expected = requests
        .flatMap(({ eventIds, organizationId }) => eventIds.map(() => organizationTag(narrowKey(key, organizationId))))
        .filter((_, id) => fresh[id])
      const tags: Array<number> = []
      // The bytes may also lie anywhere in a larger buffer, as when the log returns them.
      const moved = Buffer.alloc(block.length + 7)
      moved.set(block, 3)
      const words = wordsOf(moved.subarray(3, 3 + block.length))
      assert.strictEqual(
        eachRow(words, 0, words.length, (_, __, tag) => void tags.push(tag)),
        expected.length
      )
      assert.deepEqual(tags, expected)
      assert.strictEqual(block.length === 0, expected.length === 0)
    }
  })
})

describe("the filter", () => {
  it("has every added id, and answers maybe for fewer than one in a hundred others", () => {
    for (const count of [1, 10, 1_000, 50_000]) {
      const filter = new Uint32Array(filterWords(count))
      const scale = filterScale(filter)
      const words = printsOf("in", count)
      for (let at = 0; at < words.length; at += 4) filterAdd(filter, scale, words[at]!, words[at + 1]!)
      for (let at = 0; at < words.length; at += 4)
        assert.isTrue(filterMayHave(filter, scale, words[at]!, words[at + 1]!))
      const others = printsOf("out", 50_000)
      let maybes = 0
      for (let at = 0; at < others.length; at += 4)
        if (filterMayHave(filter, scale, others[at]!, others[at + 1]!)) maybes++
      assert.isTrue(maybes < 500, `${maybes} of 50,000 at ${count}`)
    }
  })
})

describe("sorting rows", () => {
  it("sorts any rows, including equal and clustered ones", () => {
    const chance = makeRandom(1)
    for (const spread of [1, 100, 2 ** 32]) {
      const rows = Uint32Array.from({ length: 3_000 * ROW_WORDS }, () => Math.floor(chance.next() * spread))
      const sorted = sortRows(rows, 3_000)
      for (let at = ROW_WORDS; at < sorted.length; at += ROW_WORDS)
        assert.isTrue(compareRows(sorted, at - ROW_WORDS, sorted, at) <= 0)
      const sum = (words: Uint32Array) => words.reduce((total, word) => total + word, 0)
      assert.strictEqual(sum(sorted), sum(rows))
    }
  })
})

const options = (folder: string, over: Partial<RunStoreOptions> = {}): RunStoreOptions => ({
  folder,
  mark: "m",
  idsMax: 1e9,
  fanout: 4,
  runIdsMax: 1e9,
  runsMax: 24,
  ...over
})
const range = (from: number) => ({ from, to: from + 1, lastOffset: from, digest: 0 })

describe("the store of runs", () => {
  it("finds each row of a run and no other, at every size around a page", () =>
    inFolder((folder) => {
      const store = new RunStore(options(folder))
      let from = 0
      for (const count of [1, PAGE_ROWS - 1, PAGE_ROWS, PAGE_ROWS + 1, 5 * PAGE_ROWS, 3_333]) {
        const words = printsOf(`of-${count}`, count)
        store.add(words, [7, words.length])
        // Rows with the same first word fill more than a page, so a lookup must not stop at the end of the page.
        const twins = Uint32Array.from({ length: 4 * 500 }, (_, i) =>
          i % 4 === 0 ? 0x80000000 : Math.imul(i, 0x9e3779b1)
        )
        store.add(twins, [9, twins.length])
        const run = new SealedRun(folder, store.seal(range(from++)))
        for (let at = 0; at < words.length; at += 4)
          assert.isTrue(run.mayHave(words, at) && run.hourOf(words, at) === 7)
        for (let at = 0; at < twins.length; at += 4) assert.strictEqual(run.hourOf(twins, at), 9)
        const others = printsOf("others", 500)
        for (let at = 0; at < others.length; at += 4) assert.strictEqual(run.hourOf(others, at), -1)
        assert.strictEqual(run.header.count, count + 500)
        run.close()
      }
    }))

  it("merges without losing a row, keeps the newest hour of equal ones, and removes the old runs", () =>
    inFolder((folder) => {
      const store = new RunStore(options(folder))
      const words = printsOf("a", 900)
      for (let i = 0; i < 8; i++) {
        const part = words.subarray(i * 400, i * 400 + 800)
        store.add(part, [10 + i, part.length])
        store.seal(range(i))
      }
      const removed: Array<string> = []
      for (const change of store.compact(() => 12)) if (change !== undefined) removed.push(...change.removed)
      store.release(removed)
      const names = readdirSync(folder)
      const opened = names.map((name) => new SealedRun(folder, openRun(folder, name)))
      for (let id = 0; id < 900; id++) {
        // Id i is in part i / 100 and in the one before it.
        const newest = Math.min(7, Math.floor(id / 100))
        const hours = opened.map((run) => run.hourOf(words, id * 4))
        assert.strictEqual(Math.max(...hours), 10 + newest < 12 ? -1 : 10 + newest, `id ${id}`)
      }
      assert.isTrue(names.length <= 3, names.join(" "))
      opened.forEach((run) => run.close())
    }))

  it("keeps its bound seal after seal, and compaction ends", () =>
    inFolder((folder) => {
      const store = new RunStore(options(folder, { idsMax: 10_000, runIdsMax: 4_000 }))
      const held = new Map<string, number>()
      for (let seal = 0; seal < 60; seal++) {
        const words = printsOf(`s${seal}`, 500)
        store.add(words, [10, words.length])
        const run = store.seal(range(seal))
        held.set(run.name, run.header.count)
        for (const change of store.compact(() => 0)) {
          if (change === undefined) continue
          for (const name of change.removed) held.delete(name)
          store.release(change.removed)
          if (change.added !== undefined) held.set(change.added.name, change.added.header.count)
        }
        const total = [...held.values()].reduce((sum, count) => sum + count, 0)
        assert.isTrue(total <= 10_500 && (seal < 25 || total > 8_500), `${total} after seal ${seal}`)
      }
    }))

  it("leaves only complete runs behind wherever a merge is abandoned, and opens to the same ids", () =>
    inFolder((folder) => {
      const words = printsOf("a", 60_000)
      const fill = new RunStore(options(folder))
      for (let i = 0; i < 4; i++) {
        const part = words.slice(i * 60_000, (i + 1) * 60_000)
        fill.add(part, [10, part.length])
        fill.seal(range(i))
      }
      for (let steps = 0; steps < 6; steps++) {
        // Abandoned after some steps without closing anything, as when its thread is killed.
        const store = new RunStore(options(folder))
        store.open()
        const compaction = store.compact(() => 0)
        for (let step = 0; step < steps; step++) compaction.next()
        const again = new RunStore(options(folder))
        const { discarded, runs } = again.open()
        assert.deepEqual(discarded, [])
        assert.strictEqual(
          runs.reduce((sum, { header }) => sum + header.count, 0),
          60_000
        )
        assert.deepEqual(
          gapsOf(
            runs.map(({ header }) => header),
            0,
            4
          ),
          []
        )
        assert.strictEqual(readdirSync(folder).length, runs.length)
      }
    }))
})

describe("a disk that drops what was not synced", () => {
  it("keeps a complete run under every name, and removes none before its replacement is durable", (ctx) => {
    const reason = simulatedDiskMissing()
    if (reason !== undefined) return ctx.skip(reason)
    inFolder((work) => {
      const support = (name: string) => fileURLToPath(new URL(`../support/${name}`, import.meta.url))
      execFileSync("cc", ["-shared", "-fPIC", "-O1", "-o", join(work, "order.so"), support("run-order.c"), "-ldl"])
      const [binary, ...flags] = runtimeCommand()
      execFileSync(binary!, [...flags, support("run-writer.ts"), join(work, "runs")], {
        env: { ...process.env, LD_PRELOAD: join(work, "order.so"), RUN_TRACE: join(work, "trace") }
      })
      const trace = readFileSync(join(work, "trace"), "utf8")
        .trim()
        .split("\n")
        .map((line) => line.split(" ") as [string, string])
      const isSynced = new Map<string, boolean>()
      let unkept = 0,
        renames = 0,
        removals = 0
      for (const [what, name] of trace) {
        if (what === "write") isSynced.set(name, false)
        if (what === "sync") isSynced.set(name, true)
        if (what === "folder") unkept = 0
        if (what === "rename") {
          assert.isTrue(isSynced.get(name), `${name} got its name before its bytes were kept`)
          renames++
          unkept++
        }
        if (what === "remove") {
          assert.strictEqual(unkept, 0, `${name} went before the name of its successor was kept`)
          removals++
        }
      }
      assert.isTrue(renames > 12 && removals > 5, `${renames} renames, ${removals} removals`)
      assert.strictEqual(unkept, 0)
    })
  })
})

describe("which runs are merged", () => {
  const limits = { fanout: 4, runIdsMax: 20_000, runsMax: 24 }
  const unbounded = { ...limits, runsMax: 1_000 }
  it("leaves few of them however many seals there were, and rewrites an id only a few times", () => {
    const chance = makeRandom(2)
    let runs: Array<RunSize> = []
    let written = 0,
      sealed = 0,
      most = 0
    for (let seal = 0; seal < 500; seal++) {
      const count = 1_000 + chance.below(50)
      sealed += count
      runs.push({ from: seal, to: seal + 1, count })
      for (let merge = chooseMerge(runs, unbounded); merge !== undefined; merge = chooseMerge(runs, unbounded)) {
        const inputs = runs.slice(merge.first, merge.first + merge.length)
        const sum = inputs.reduce((total, run) => total + run.count, 0)
        written += sum
        runs = [
          ...runs.slice(0, merge.first),
          { from: inputs[0]!.from, to: inputs.at(-1)!.to, count: sum },
          ...runs.slice(merge.first + merge.length)
        ]
      }
      most = Math.max(most, runs.length - sealed / 16_000)
    }
    assert.isTrue(most < 9, `${most} runs beside the full ones`)
    assert.isTrue(written / sealed < 2.5, `${written / sealed} times`)
  })
  it("never merges across a gap", () => {
    assert.isUndefined(
      chooseMerge(
        [
          { from: 0, to: 1, count: 9 },
          { from: 1, to: 2, count: 9 },
          { from: 3, to: 4, count: 9 },
          { from: 4, to: 5, count: 9 }
        ],
        limits
      )
    )
  })
  it("exceeds its limits rather than let a lookup read any number of runs", () => {
    const runs = Array.from({ length: 25 }, (_, i) => ({
      from: i,
      to: i + 1,
      count: i === 7 || i === 8 ? 16_000 : 19_000
    }))
    assert.deepEqual(chooseMerge(runs, limits), { first: 7, length: 2 })
  })
  it("a wider or newer run replaces those it was made of", () => {
    const run = (from: number, to: number, generation: number) => ({ from, to, generation })
    const runs = [run(0, 4, 1), run(0, 2, 0), run(2, 4, 0), run(4, 6, 1), run(4, 6, 0), run(6, 8, 0)]
    assert.deepEqual(replacedRuns(runs), [runs[1], runs[2], runs[4]])
  })
  it("gaps are the offsets that no run covers", () => {
    assert.deepEqual(
      gapsOf(
        [
          { from: 5, to: 8 },
          { from: 1, to: 3 },
          { from: 2, to: 4 }
        ],
        0,
        10
      ),
      [
        { from: 0, to: 1 },
        { from: 4, to: 5 },
        { from: 8, to: 10 }
      ]
    )
    assert.deepEqual(gapsOf([{ from: 0, to: 8 }], 3, 6), [])
  })
})

describe("organizations that lose ids", () => {
  it("are only those above one level, which fills the bound", () => {
    const chance = makeRandom(4)
    for (let round = 0; round < 300; round++) {
      const held = Array.from({ length: 1 + chance.below(8) }, () => chance.below(1_000))
      const total = chance.below(3_000)
      const level = fairLevel(held, total)
      const kept = held.reduce((sum, count) => sum + Math.min(count, level), 0)
      assert.isTrue(kept <= total || (level === Infinity && held.reduce((a, b) => a + b, 0) <= total))
      if (level !== Infinity) assert.isTrue(kept > total - held.length && level >= Math.floor(total / held.length))
    }
  })
  it("lose their oldest ids, and those below the level lose none", () => {
    const runs = [
      new Map([
        [1, 100],
        [2, 900]
      ]),
      new Map([[2, 900]]),
      new Map([
        [1, 100],
        [2, 900],
        [3, 50]
      ])
    ]
    const chosen = choosePrune(runs, 1_600)
    assert.deepEqual([...chosen.keys()], [0, 1])
    assert.deepEqual([...chosen.get(0)!], [[2, 1]])
    const share = chosen.get(1)!.get(2)!
    assert.isTrue(share > 0 && share < 1)
    assert.strictEqual(choosePrune(runs, 2_950).size, 0)
  })
})
