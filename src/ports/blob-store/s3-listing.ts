/** Strictly parses an S3 server's answer to `ListObjectsV2`. */
import { SaxesParser } from "saxes"

interface Listing {
  readonly keys: ReadonlyArray<string>
  /** The part of a key before the delimiter, including the delimiter. */ readonly prefixes: ReadonlyArray<string>
}
export const listingOf = (xml: string): Listing => {
  const keys: Array<string> = [],
    prefixes: Array<string> = [],
    path: Array<string> = []
  let text = ""
  const parser = new SaxesParser()
  parser.on("error", (error) => {
    throw error
  })
  parser.on("opentag", ({ name }) => {
    path.push(name)
    text = ""
  })
  parser.on("text", (piece) => {
    text += piece
  })
  parser.on("closetag", () => {
    const place = path.join("/")
    if (place === "ListBucketResult/Contents/Key") keys.push(text)
    if (place === "ListBucketResult/CommonPrefixes/Prefix") prefixes.push(text)
    path.pop()
  })
  parser.write(xml).close()
  return { keys, prefixes }
}
