/**
 * Three nodes of OpenSearch, some of which are killed without warning while documents are imported and searched: no
 * search fails while a node is left, no acknowledged document is lost, and whatever the cluster does not accept is
 * reported as such. The tests follow each other on one cluster.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { SearchEngine } from "../../engine-sdk/src/engine.ts"
import { OpensearchEngine } from "../../engine-sdk/src/opensearch/mod.ts"
import type { OpensearchOptions } from "../../engine-sdk/src/opensearch/mod.ts"
import { STEPS } from "../../engine-sdk/src/opensearch/move.ts"
import { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "../../engine-sdk/src/testing/engine-suite.ts"
import { guardEngine } from "../../src/ports/engine/guarded-engine.ts"
import { opensearchOptionsOf } from "../../src/runtime/opensearch.ts"
import { opensearchMissing, startTestCluster } from "../support/opensearch.ts"

const missing = opensearchMissing()
const HEAP_MB = 256
const schema = suiteSchema("things", [suiteField("name", "string"), suiteField("n", "int32", { sort: true })])
const plan = suitePlan("things", { text: suiteText(["kettle"], ["name"]) })
const pause = (time_ms: number) => new Promise((settle) => setTimeout(settle, time_ms))

/** Imports and searches until it is stopped. */
class Traffic {
  readonly acknowledged = new Set<string>()
  readonly failures: string[] = []
  searches = 0
  /** Writes whose answer was lost, or that were refused: they were never acknowledged. */ refused = 0
  longest_ms = 0
  #isOver = false
  readonly #running: ReadonlyArray<Promise<void>>
  readonly #namespace: string
  constructor(engine: SearchEngine, from: string, namespace = "a") {
    this.#namespace = namespace
    this.#running = [this.#write(engine, `${from}a`), this.#write(engine, `${from}b`), this.#search(engine)]
  }
  async end(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#running)
  }
  async #write(engine: SearchEngine, from: string): Promise<void> {
    for (let n = 0; !this.#isOver; n++) {
      const ids = [0, 1, 2, 3, 4].map((i) => `${from}${n}-${i}`)
      const written = await engine.write(
        this.#namespace,
        "things",
        ids.map((id) => putOf({ id, name: `kettle ${id}`, n }))
      )
      for (const [i, id] of ids.entries())
        if (written.ok && written.value[i]!.result.ok) this.acknowledged.add(id)
        else this.refused++
      await pause(20)
    }
  }
  async #search(engine: SearchEngine): Promise<void> {
    while (!this.#isOver) {
      const least = this.acknowledged.size
      const from = performance.now()
      const [answer] = await engine.search(this.#namespace, [plan])
      this.longest_ms = Math.max(this.longest_ms, performance.now() - from)
      this.searches++
      if (!answer!.ok) this.failures.push(JSON.stringify(answer!.error))
      else if (answer!.value.found < least) this.failures.push(`found ${answer!.value.found} of ${least}`)
      await pause(5)
    }
  }
}

describe.skipIf(missing !== undefined)(`OpenSearch, three nodes${missing === undefined ? "" : `: ${missing}`}`, () => {
  let cluster: Awaited<ReturnType<typeof startTestCluster>>
  let engine: ReturnType<typeof guardEngine>
  const states: string[] = []
  const get = async (node: string, path: string): Promise<any> => (await fetch(`${node}${path}`)).json()
  const put = (node: string, path: string, body: object) =>
    fetch(`${node}${path}`, {
      method: "PUT",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body)
    })
  const pool = "three-documents-pool"
  beforeAll(async () => {
    cluster = await startTestCluster(3, HEAP_MB)
    const options = opensearchOptionsOf({
      OPENSEARCH_NODES: cluster.nodes.join(),
      OPENSEARCH_PREFIX: "three",
      OPENSEARCH_POOL_SHARDS: "2",
      OPENSEARCH_REPLICAS: "2"
    })
    if (typeof options === "string") throw new Error(options)
    const opened = await OpensearchEngine.open(options)
    if (!opened.ok) throw new Error(opened.error.message)
    engine = guardEngine(opened.value, { onChange: (circuit, state) => void states.push(`${circuit} ${state}`) })
    await engine.createCollection("a", schema, 1)
  })
  afterAll(async () => {
    await engine?.close()
    await cluster?.stop()
  })

  it("makes indices as OPENSEARCH_POOL_SHARDS and OPENSEARCH_REPLICAS say", async () => {
    const settings = await get(cluster.nodes[0]!, `/${pool}/_settings?flat_settings=true`)
    const { "index.number_of_shards": shards, "index.number_of_replicas": replicas } = settings[pool].settings
    expect([shards, replicas]).toEqual(["2", "2"])
  })

  it("moves a collection during imports by two engines, while one mover after the other is killed", async () => {
    const options = {
      nodes: cluster.nodes,
      prefix: "three",
      times: { count_ms: 300, silent_ms: 800, clear_ms: 2_000 }
    }
    const opening = async (more: Partial<OpensearchOptions>): Promise<OpensearchEngine> => {
      const opened = await OpensearchEngine.open({ ...options, ...more })
      if (!opened.ok) throw new Error(opened.error.message)
      return opened.value
    }
    const second = await opening({ follow_ms: 200 })
    for (const namespace of ["m", "n"]) await second.createCollection(namespace, schema, 1)
    await second.write("n", "things", [putOf({ id: "1", name: "kettle", n: 1 })])
    const traffics = [new Traffic(engine, "one", "m"), new Traffic(second, "two", "m")]
    for (const step of STEPS) {
      const victim = await opening({
        onMoveStep: (now) => {
          if (now === step) throw new Error("killed")
        }
      })
      let ended: unknown = "Conflict"
      while (ended === "Conflict") {
        await pause(100)
        ended = await victim.promoteCollection("m", "things").then(
          (result) => (result.ok ? "done" : result.error.kind),
          ({ message }: Error) => message
        )
      }
      await victim.close()
      expect([step, ended]).toEqual([step, "killed"])
    }
    let moved = await second.promoteCollection("m", "things")
    while (!moved.ok && moved.error.kind === "Conflict") {
      await pause(100)
      moved = await second.promoteCollection("m", "things")
    }
    expect(moved.ok ? undefined : moved.error).toBeUndefined()
    await pause(300)
    await Promise.all(traffics.map((traffic) => traffic.end()))
    const model = traffics.flatMap(({ acknowledged }) => [...acknowledged])
    expect(traffics.flatMap(({ failures }) => failures)).toEqual([])
    expect(traffics.map(({ refused }) => refused)).toEqual([0, 0])
    const scanned = await second.scan("m", { collection: "things", filter: undefined, limit: 100_000 })
    expect((scanned.ok ? [...scanned.value.ids] : []).sort()).toEqual(model.sort())
    const [answer] = await engine.search("n", [plan])
    expect(answer!.ok && answer!.value.found).toBe(1)
    const { [pool]: shared, ...own } = await get(cluster.nodes[0]!, "/three-documents-*/_settings")
    expect([shared === undefined, Object.keys(own).length >= 1]).toEqual([false, true])
    if (process.env.TOLD === "1") console.log(`moved under ${model.length} documents`)
    await second.close()
  })

  it("takes no writes on a full disk and a read-only index, says so, and takes them again afterwards", async () => {
    const [node] = cluster.nodes
    const write = async (id: string) => {
      const written = await engine.write("a", "things", [putOf({ id, name: "mug", n: 1 })])
      if (!written.ok) return written.error
      const [{ result }] = written.value as [(typeof written.value)[number]]
      return result.ok ? "written" : result.error
    }
    const isRefused = async () => {
      // More attempts than would open a circuit.
      for (let i = 0; i < 6; i++) {
        const error = await write("blocked")
        expect(error).toMatchObject({ kind: "Overloaded", retryAfterSeconds: 10 })
        expect((error as { message: string }).message).toMatch(/takes no writes: .*(read-only|FORBIDDEN)/)
      }
      expect((await engine.search("a", [plan]))[0]!.ok).toBe(true)
    }
    expect(await write("before")).toBe("written")
    // Any disk has less free space than this and so counts as full.
    const leastFree = (least: string) =>
      put(node!, "/_cluster/settings", {
        persistent: {
          "cluster.routing.allocation.disk.threshold_enabled": true,
          ...Object.fromEntries(
            ["low", "high", "flood_stage"].map((mark) => [`cluster.routing.allocation.disk.watermark.${mark}`, least])
          )
        }
      })
    expect((await leastFree("900tb")).status).toBe(200)
    // The cluster checks its disks only every ten seconds; meanwhile the index is made read-only.
    await put(node!, `/${pool}/_settings`, { "index.blocks.read_only": true })
    await isRefused()
    await put(node!, `/${pool}/_settings`, { "index.blocks.read_only": null })
    // A new document each time, because an unchanged one is not written again.
    let looked = 0
    const until = async (state: (outcome: unknown) => boolean) => {
      for (let looks = 0; looks < 600 && !state(await write(`looked ${looked++}`)); looks++) await pause(200)
    }
    await until((outcome) => outcome !== "written")
    await isRefused()
    expect((await leastFree("1b")).status).toBe(200)
    await until((outcome) => outcome === "written")
    expect(await write("after")).toBe("written")
    expect(states).toEqual([])
  })

  it("loses its elected manager and a data node during imports and searches", async () => {
    let alive = [...cluster.started]
    for (const role of ["manager", "data"]) {
      const [manager] = await get(alive[0]!.address, "/_cat/cluster_manager?format=json")
      const names = new Map<string, string>()
      for (const { address } of alive) names.set((await get(address, "/")).name, address)
      const victim = alive.find(({ address }) => (address === names.get(manager.node)) === (role === "manager"))!
      const traffic = new Traffic(engine, role)
      await pause(500)
      process.kill(victim.pid, "SIGKILL")
      await victim.exited
      await pause(2_000)
      // A busy machine takes longer; failures in the meantime are still reported.
      for (
        let waited = 0;
        waited < 60_000 && Math.min(traffic.searches, traffic.acknowledged.size) <= 20;
        waited += 100
      )
        await pause(100)
      await traffic.end()
      const said = `${role}: ${traffic.searches} searches, ${traffic.acknowledged.size} written, ${traffic.refused} not, ${traffic.longest_ms} ms`
      expect([...traffic.failures], said).toEqual([])
      expect(traffic.searches, said).toBeGreaterThan(20)
      expect(traffic.acknowledged.size, said).toBeGreaterThan(20)
      const ids = [...traffic.acknowledged]
      const stored = await engine.get("a", "things", ids)
      expect(stored.ok && stored.value.filter((document) => document === undefined).length, said).toBe(0)
      // Writes whose answers were lost with a node count as failures of the write circuit, several in a row on a busy
      // machine.
      expect(
        states.filter((state) => state.startsWith("reads")),
        said
      ).toEqual([])
      if (process.env.TOLD === "1") console.log(said)
      // A cluster of three needs two nodes to elect a leader, so both must be up when the next one is killed.
      const others = alive.filter((node) => node !== victim)
      // The restarted node comes first: it is the next to be killed, unless it leads.
      alive = role === "manager" ? [await victim.restart(), ...others] : others
    }
  })

  it("opens the circuit when every node is gone, and not before", async () => {
    expect(engine.circuits().reads).toBe("closed")
    await cluster.stop()
    for (let i = 0; i < 5; i++) {
      const [answer] = await engine.search("a", [plan])
      expect(answer!.ok ? "found" : answer!.error.kind).toBe("Unavailable")
    }
    expect(engine.circuits().reads).toBe("open")
  })
})
