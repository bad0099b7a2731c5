/** `dowser org members …` against a running program, as a person types it. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"
import { launchPrepared } from "../support/launched.ts"

const root = new URL("../..", import.meta.url).pathname

it("members are added, listed, given roles and removed on the command line", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dowser-members-"))
  try {
    const program = await launchPrepared(join(folder, "data"))
    const organization = program.ready.organization_id!
    const node = (globalThis as { readonly Deno?: unknown }).Deno === undefined ? process.execPath : "node"
    const members = (...args: ReadonlyArray<string>) => {
      const { status, stderr, stdout } = spawnSync(
        node,
        [join(root, "scripts", "bootstrap.mjs"), "org", "members", ...args, "--data-dir", join(folder, "data")],
        { cwd: root, encoding: "utf8" }
      )
      return { status, stdout, stderr }
    }
    const added = JSON.parse(
      members("add", organization, "Owner@x.example", "--role", "owner", "--name", "O", "--json").stdout
    )
    expect(added).toMatchObject({
      id: expect.stringMatching(/^mem_/),
      email: "owner@x.example",
      name: "O",
      role: "owner",
      initial_password: expect.stringMatching(/^\w{20}$/)
    })
    expect(
      members("add", organization, "second@x.example", "--role", "member", "--password", "a long password").stdout
    ).not.toContain("a long password")
    expect(members("set-role", organization, "second@x.example", "--role", "admin").stdout).toContain("admin")
    expect(members("set-role", organization, added.id, "--role", "member")).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("keeps at least one owner")
    })
    expect(
      members("list", organization)
        .stdout.trim()
        .split("\n")
        .map((line) => line.split(/ +/).slice(1, 3))
    ).toEqual([
      ["owner", "owner@x.example"],
      ["admin", "second@x.example"]
    ])
    expect(members("remove", organization, "nobody@x.example")).toMatchObject({
      status: 1,
      stderr: expect.stringContaining("is no member")
    })
    expect(members("remove", organization, "second@x.example").stdout).toContain("removed mem_")
    expect(JSON.parse(members("list", organization, "--json").stdout).data).toEqual([
      { id: added.id, email: "owner@x.example", name: "O", role: "owner", created_at: added.created_at }
    ])
    program.signal("SIGTERM")
    expect(await program.exited).toBe(0)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
