/** Which names are valid in a manifest: a restore creates files and reads parts by these names. */
import { createHash } from "node:crypto"
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, describe, expect, it } from "vitest"
import { partFault, verifyParts } from "../../../src/runtime/backup/manifest.ts"

const part = (path: string, text = "x") => ({
  path,
  bytes: text.length,
  sha256: createHash("sha256").update(text).digest("hex")
})
const fault = (...paths: ReadonlyArray<string>) => partFault({ parts: paths.map((path) => part(path)), tables: [] })
const folders: Array<string> = []
afterEach(() => {
  for (const path of folders.splice(0)) rmSync(path, { recursive: true, force: true })
})
const written = (paths: ReadonlyArray<string>) => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-parts-"))
  folders.push(folder)
  for (const path of paths) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), "x")
  }
  return folder
}
const verify = (folder: string, ...paths: ReadonlyArray<string>) =>
  verifyParts(
    folder,
    {
      format: 1,
      program: "1",
      data_version: 1,
      created_at: 0,
      log_position: {},
      tables: [],
      sequences: {},
      parts: paths.map((path) => part(path))
    },
    () => {}
  )

describe("parts of a backup", () => {
  it.each([
    "../x",
    "files/../../x",
    "files/..",
    "..",
    "files/a/../../../x",
    "/etc/passwd",
    "//x",
    "files//x",
    "files/./x",
    "files/",
    "./files/x",
    "files\\..\\x",
    "C:/x",
    "files/a\u0000b",
    "",
    "postgres/../files/x",
    "log/../../x"
  ])("that leave the folder are refused: %j", (path) => {
    expect(fault(path)).toMatch(/outside of itself|no backup has/)
  })
  it.each([
    "other/x",
    "x",
    "postgres",
    "postgres/a/b",
    "log/a/b",
    "files/running.json",
    "files/restoring",
    "files/version.json",
    "files/postgres/x",
    "files/engine/documents.mdb",
    "files/log/data.mdb"
  ])("that no backup has are refused: %j", (path) => {
    expect(fault(path)).toMatch(/no backup has/)
  })
  it("that are listed twice are refused, also if only case or accents differ", () => {
    expect(fault("files/a", "files/b", "files/a")).toMatch(/twice: "files\/a"/)
    expect(fault("files/a", "files/A")).toMatch(/twice/)
    expect(fault("files/\u00e9", "files/e\u0301")).toMatch(/twice/)
  })
  it("exist once for each table", () => {
    const table = (name: string) => ({ name, columns: [], rows: 0 })
    expect(partFault({ parts: [part("postgres/a")], tables: [table("a")] })).toBeUndefined()
    expect(partFault({ parts: [part("postgres/a")], tables: [table("../a")] })).toMatch(/no part of its own/)
    expect(partFault({ parts: [part("postgres/a")], tables: [table("a"), table("a")] })).toMatch(/no part of its own/)
  })
  it("pass as a backup writes them", () => {
    expect(
      fault(
        "postgres/api_keys",
        "log/data.mdb",
        "engine/documents.mdb",
        "files/operator.key",
        "files/.cache/x",
        "files/a..b"
      )
    ).toBeUndefined()
  })
  it("are files of the backup: a link, or one below a linked folder, is refused before it is read", async () => {
    const outside = written(["secret/x"])
    const folder = written(["files/good"])
    await expect(verify(folder, "files/good")).resolves.toBeUndefined()
    symlinkSync(join(outside, "secret", "x"), join(folder, "files", "linked"))
    await expect(verify(folder, "files/linked")).rejects.toThrow(
      "files/linked is no file of its own, but a link or a folder"
    )
    symlinkSync(join(outside, "secret"), join(folder, "files", "below"))
    await expect(verify(folder, "files/below/x")).rejects.toThrow("is no file of its own")
    mkdirSync(join(folder, "files", "folder"))
    await expect(verify(folder, "files/folder")).rejects.toThrow("is no file of its own")
    await expect(verify(folder, "files/none")).rejects.toThrow("files/none is missing")
  })
})
