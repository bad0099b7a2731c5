/**
 * The files of a started program are private: checks the modes of every file and folder, including one that an older
 * version left readable.
 */
import { spawnSync } from "node:child_process"
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, it } from "vitest"
import { launch, type Launched, processesNaming } from "../support/launched.ts"

const folder = mkdtempSync(join(tmpdir(), "dowser-private-"))
// Other users may enter it, as with a usual place for data folders.
chmodSync(folder, 0o755)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const isRoot = process.getuid?.() === 0
/** A clone below a closed folder is run as root: there is no user to whom it could be handed over. */
const isOpenClone =
  isRoot &&
  spawnSync("test", ["-r", new URL("../../src/main.ts", import.meta.url).pathname], {
    cwd: "/",
    uid: 65_534,
    gid: 65_534
  }).status === 0
if (isRoot && !isOpenClone)
  console.warn("SKIPPED: what the program hands over to the user nobody, who cannot read this clone")
const open = (path: string): ReadonlyArray<string> =>
  readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
    const at = join(path, entry.name)
    // A temporary file may have been renamed by now.
    const found = lstatSync(at, { throwIfNoEntry: false })
    if (found === undefined) return []
    const mode = found.mode & 0o777
    return [
      ...((mode & 0o077) === 0 || entry.isSymbolicLink() ? [] : [`${at.slice(folder.length)} ${mode.toString(8)}`]),
      ...(entry.isDirectory() ? open(at) : [])
    ]
  })
const send = async ({ port, ready }: Launched, method: string, path: string, body?: unknown) =>
  (
    await fetch(`http://127.0.0.1:${port}/v1/${path}`, {
      method,
      headers: { "x-svc-api-key": ready.full_key! },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
  ).status
const statusOf = (pid: number, field: string): string =>
  new RegExp(`^${field}:\\s*(.*)$`, "m").exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]!

it("every file in the data folder is accessible to its owner only, also after a start over an open one", async () => {
  const data = join(folder, "data")
  const once = async (mask: number) => {
    const before = process.umask(mask)
    const program = await launch(data).finally(() => process.umask(before))
    if (program.ready.full_key !== undefined) {
      expect(
        await send(program, "POST", "collections", { name: `c${mask}`, fields: [{ name: "title", type: "string" }] })
      ).toBe(201)
      expect(await send(program, "POST", `collections/c${mask}/documents`, { title: "x" })).toBe(201)
      expect(
        await send(program, "POST", "events", { events: [{ type: "view", collection: "c", document_id: "d" }] })
      ).toBe(200)
    }
    expect(statusOf(program.pid(), "Umask")).toBe("0077")
    expect(open(data)).toEqual([])
    // Root lets the user of Postgres enter the folder, but not list it.
    expect((lstatSync(data).mode & 0o777).toString(8)).toBe(isRoot ? "710" : "700")
    program.signal("SIGTERM")
    expect(await program.exited).toBe(0)
  }
  await once(0o000)
  const opened = (path: string) => {
    for (const entry of readdirSync(path, { withFileTypes: true })) {
      if (entry.name === "postgres") continue
      if (entry.isDirectory()) opened(join(path, entry.name))
      else chmodSync(join(path, entry.name), 0o666)
    }
    chmodSync(path, 0o777)
  }
  opened(data)
  mkdirSync(join(data, "log", "more"), { mode: 0o755 })
  writeFileSync(join(data, "log", "more", "file"), "x", { mode: 0o644 })
  await once(0o022)
})

const NOBODY = 65_534
const uidOf = (name: string): number =>
  Number(
    readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .map((line) => line.split(":"))
      .find(([first]) => first === name)![2]
  )
/** Owners of every file below a folder, except those named in `skipped`. */
const owners = (path: string, skipped?: string): ReadonlyArray<number> => [
  ...new Set(
    readdirSync(path, { withFileTypes: true }).flatMap((entry) =>
      entry.name === skipped
        ? []
        : [
            lstatSync(join(path, entry.name), { throwIfNoEntry: false })?.uid ?? NOBODY,
            ...(entry.isDirectory() ? owners(join(path, entry.name)) : [])
          ]
    )
  )
]
const canRead = (uid: number, path: string): boolean =>
  spawnSync("cat", [path], { cwd: "/", uid, gid: uid }).status === 0

it.skipIf(!isOpenClone)(
  "started as root, the program and Postgres run as different users, and neither can read the other's files",
  async () => {
    const data = join(folder, "handed-over"),
      daemon = uidOf("daemon")
    // Created by root first; existing files change their owner.
    const first = await launch(data, ["--no-demo"], undefined, { DOWSER_RUN_AS: "root" })
    expect(statusOf(first.pid(), "Uid").startsWith("0\t")).toBe(true)
    // Root lets the server's own user enter the folder, but not list it.
    expect((lstatSync(data).mode & 0o777).toString(8)).toBe("710")
    first.signal("SIGTERM")
    expect(await first.exited).toBe(0)
    for (const start of ["once", "again"]) {
      const program = await launch(data)
      expect(statusOf(program.pid(), "Uid"), start).toBe(`${NOBODY}\t${NOBODY}\t${NOBODY}\t${NOBODY}`)
      const servers = processesNaming(join(data, "postgres"))
      expect(servers.length).toBeGreaterThan(0)
      for (const pid of servers) expect(statusOf(pid, "Uid")).toBe(`${daemon}\t${daemon}\t${daemon}\t${daemon}`)
      expect([lstatSync(data).uid, ...owners(data, "postgres")].every((uid) => uid === NOBODY)).toBe(true)
      expect(owners(join(data, "postgres"))).toEqual([daemon])
      expect([
        canRead(daemon, join(data, "operator.key")),
        canRead(daemon, join(data, "postgres.password")),
        canRead(daemon, join(data, "postgres", "PG_VERSION"))
      ]).toEqual([false, false, true])
      expect([
        canRead(NOBODY, join(data, "operator.key")),
        canRead(NOBODY, join(data, "postgres", "PG_VERSION"))
      ]).toEqual([true, false])
      expect((lstatSync(data).mode & 0o777).toString(8)).toBe("710")
      expect(open(data)).toEqual([])
      expect((await fetch(`http://127.0.0.1:${program.port}/health`)).status).toBe(200)
      // A second program over the same folder does not stop the first.
      const second = await launch(data).catch((error: Error) => error.message)
      expect(second).toContain("is in use by a running Dowser")
      expect((await fetch(`http://127.0.0.1:${program.port}/health`)).status).toBe(200)
      program.signal("SIGTERM")
      expect(await program.exited).toBe(0)
      expect(processesNaming(join(data, "postgres"))).toEqual([])
    }
    const again = await launch(data, ["--no-demo"], undefined, { DOWSER_RUN_AS: "root" })
    expect((await fetch(`http://127.0.0.1:${again.port}/health`)).status).toBe(200)
    again.signal("SIGTERM")
    expect(await again.exited).toBe(0)
    const refused = await launch(data, ["--no-demo"], undefined, { DOWSER_RUN_AS: "not-there" }).catch(
      (error: Error) => error.message
    )
    expect(refused).toContain("DOWSER_RUN_AS names not-there, which /etc/passwd does not have.")
    const refusedPostgres = await launch(data, ["--no-demo"], undefined, { DOWSER_POSTGRES_RUN_AS: "root" }).catch(
      (error: Error) => error.message
    )
    expect(refusedPostgres).toContain("DOWSER_POSTGRES_RUN_AS names root, as whom Postgres does not run.")
  }
)

it.skipIf(!isOpenClone)(
  "started as root, Postgres ends with its launcher, and the files that both left are used again",
  async () => {
    const data = join(folder, "killed")
    const program = await launch(data)
    const servers = () => processesNaming(join(data, "postgres"))
    expect(servers().length).toBeGreaterThan(0)
    const pid = program.pid()
    program.signal("SIGKILL")
    await program.exited
    await expect.poll(() => servers().length, { timeout: 60_000 }).toBe(0)
    await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 60_000 }).toBe(false)
    const again = await launch(data)
    expect((await fetch(`http://127.0.0.1:${again.port}/health`)).status).toBe(200)
    process.kill(again.pid(), "SIGKILL")
    await again.exited
    expect(servers()).toEqual([])
    // What a killed initdb leaves: its partly filled folder, and nothing else.
    rmSync(join(data, "postgres"), { recursive: true })
    mkdirSync(join(data, "postgres.new", "base"), { recursive: true })
    writeFileSync(join(data, "postgres.new", "base", "half"), "x")
    const anew = await launch(data)
    expect((await fetch(`http://127.0.0.1:${anew.port}/health`)).status).toBe(200)
    expect(existsSync(join(data, "postgres.new"))).toBe(false)
    anew.signal("SIGTERM")
    expect(await anew.exited).toBe(0)
    // A foreign password is refused at once.
    writeFileSync(join(data, "postgres.password"), "short")
    expect(await launch(data).catch((error: Error) => error.message)).toContain(
      "postgres.password of the data folder must hold 48 hexadecimal digits"
    )
  }
)

it.skipIf(!isOpenClone)(
  "started as root, a folder with foreign files keeps its owner, and links are not followed",
  async () => {
    const mixed = join(folder, "mixed"),
      elsewhere = join(folder, "elsewhere"),
      linked = join(folder, "linked")
    mkdirSync(mixed)
    writeFileSync(join(mixed, "letter"), "x")
    mkdirSync(elsewhere)
    writeFileSync(join(elsewhere, "letter"), "x")
    const program = await launch(mixed)
    expect(statusOf(program.pid(), "Uid").startsWith("0\t")).toBe(true)
    expect(program.stderr()).toContain(
      `Runs as root: the user nobody is not given ${mixed}: it holds something else than Dowser's data.`
    )
    program.signal("SIGTERM")
    expect(await program.exited).toBe(0)
    expect(lstatSync(join(mixed, "letter")).uid).toBe(0)
    mkdirSync(linked)
    writeFileSync(join(linked, "version.json"), readFileSync(join(mixed, "version.json")))
    symlinkSync(elsewhere, join(linked, "away"))
    const other = await launch(linked)
    expect(statusOf(other.pid(), "Uid").startsWith("65534\t")).toBe(true)
    expect([lstatSync(elsewhere).uid, lstatSync(join(elsewhere, "letter")).uid]).toEqual([0, 0])
    other.signal("SIGTERM")
    expect(await other.exited).toBe(0)
  }
)

it.skipIf(!isOpenClone)("a data folder that no other user can reach is run as root, with a message", async () => {
  const closed = join(folder, "closed")
  mkdirSync(closed, { mode: 0o700 })
  const program = await launch(join(closed, "data"))
  expect(statusOf(program.pid(), "Uid").startsWith("0\t")).toBe(true)
  expect(program.stderr()).toContain(
    `Runs as root: the user nobody cannot pass ${closed}: it, or a folder above it, is closed to others.`
  )
  program.signal("SIGTERM")
  expect(await program.exited).toBe(0)
})
