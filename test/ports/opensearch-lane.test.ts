/** Why the OpenSearch lane is skipped, reported before a node fails to start. */
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, expect, it } from "vitest"
import { folderClosedTo } from "../support/opensearch.ts"

const root = realpathSync(mkdtempSync(join(tmpdir(), "dowser-lane-")))
afterAll(() => rmSync(root, { recursive: true, force: true }))
const stranger = { uid: 65_533, gid: 65_533 }

it("the outermost folder that a user cannot enter is named, whichever user it is", () => {
  const outer = join(root, "outer"),
    inner = join(outer, "inner")
  mkdirSync(inner, { recursive: true })
  const closedAt = (modes: { readonly outer: number; readonly inner: number }, user = stranger) => {
    chmodSync(root, 0o755)
    chmodSync(outer, modes.outer)
    chmodSync(inner, modes.inner)
    return folderClosedTo(user, inner)
  }
  expect(closedAt({ outer: 0o755, inner: 0o755 })).toBeUndefined()
  // Permission to enter is enough; listing is not needed.
  expect(closedAt({ outer: 0o711, inner: 0o755 })).toBeUndefined()
  expect(closedAt({ outer: 0o744, inner: 0o755 })).toBe(outer)
  expect(closedAt({ outer: 0o755, inner: 0o700 })).toBe(inner)
  expect(closedAt({ outer: 0o700, inner: 0o700 })).toBe(outer)
  const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 }
  expect(closedAt({ outer: 0o700, inner: 0o700 }, owner)).toBeUndefined()
})
