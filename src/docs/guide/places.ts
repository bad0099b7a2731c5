/**
 * Which files of the repository are pages of the guide, and their ids. A page's id is the path after `/docs/guide/`;
 * the first page, `docs/README.md`, has an empty id.
 */
import { readdir } from "node:fs/promises"
import { posix } from "node:path"

/** The path under which the pages are served. */
export const GUIDE = "/docs/guide"
/** Path of the repository, with a trailing slash. */
export const repository = new URL("../../../", import.meta.url).pathname
/** The page whose tables form the sidebar. */
export const FIRST_PAGE = "docs/README.md"

/** Folders whose documents are pages; `examples` has one folder for each. */
const FOLDERS = [".", "docs", "docs/contract", "engine-sdk", "streams", "bench"] as const
const PICTURE = /\.(png|svg)$/

const idOf = (file: string): string =>
  file
    .toLowerCase()
    .replace(/\.md$/, "")
    .replace(/^docs\//, "")
    .replace(/(?<=\/)readme$/, "")
    .replace(/\/$/, "")

export interface GuidePlaces {
  /** Files by id. */ readonly files: ReadonlyMap<string, string>
  /** Ids by file. */ readonly ids: ReadonlyMap<string, string>
  /** Names of the pictures next to the pages. */ readonly pictures: ReadonlySet<string>
}

const namesIn = async (folder: string): Promise<ReadonlyArray<string>> => {
  try {
    return (await readdir(`${repository}${folder}`)).sort()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return []
    throw error
  }
}

export const findPlaces = async (): Promise<GuidePlaces> => {
  const examples = (await namesIn("examples")).map((name) => `examples/${name}`)
  const files = new Map<string, string>()
  for (const folder of [...FOLDERS, ...examples])
    for (const name of await namesIn(folder)) {
      const file = posix.normalize(`${folder}/${name}`)
      if (!name.endsWith(".md")) continue
      const id = file === FIRST_PAGE ? "" : idOf(file)
      if (files.has(id)) throw new Error(`${files.get(id)} and ${file} would be one page of the guide.`)
      files.set(id, file)
    }
  return {
    files,
    ids: new Map([...files].map(([id, file]) => [file, id])),
    pictures: new Set((await namesIn("docs")).filter((name) => PICTURE.test(name)))
  }
}

export const addressOf = (id: string): string => (id === "" ? GUIDE : `${GUIDE}/${id}`)

/** The target of a link: a page, a picture, a file that the site does not show, or an external address. */
export type Target =
  | { readonly kind: "page"; readonly id: string; readonly anchor: string }
  | { readonly kind: "picture"; readonly path: string }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "site"; readonly address: string }
  | { readonly kind: "elsewhere"; readonly address: string }

/** `from` is the file that contains the link. */
export const targetOf = ({ ids, pictures }: GuidePlaces, from: string, href: string): Target => {
  if (/^[a-z][a-z0-9+.-]*:/i.test(href)) return { kind: "elsewhere", address: href }
  const [path = "", anchor = ""] = href.split("#", 2)
  if (path.startsWith("/")) {
    if (path !== GUIDE && !path.startsWith(`${GUIDE}/`)) return { kind: "site", address: href }
    return { kind: "page", id: path.slice(GUIDE.length + 1), anchor }
  }
  const file = path === "" ? from : posix.normalize(posix.join(posix.dirname(from), path))
  const id = ids.get(file) ?? ids.get(posix.join(file, "README.md"))
  if (id !== undefined) return { kind: "page", id, anchor }
  // A generated page only links to anchors within itself.
  if (file === from) return { kind: "page", id: idOf(from), anchor }
  const picture = file.startsWith("docs/") ? file.slice("docs/".length) : ""
  return pictures.has(picture) ? { kind: "picture", path: picture } : { kind: "file", path: file }
}
