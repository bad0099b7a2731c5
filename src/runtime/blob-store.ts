/** Where the bytes of media are stored: in a bucket that `DOWSER_S3_*` variables name, else in the data folder. */
import { Effect, Layer } from "effect"
import type { BlobStore } from "../ports/blob-store/blob-store.ts"
import { layerFiles } from "../ports/blob-store/files.ts"
import { layerS3 } from "../ports/blob-store/s3.ts"
import type { S3Options } from "../ports/blob-store/s3-requests.ts"
import { StartRefused } from "./data-folder.ts"

type Environment = Readonly<Record<string, string | undefined>>

/** Undefined if no bucket is named; a sentence about the mistake if the variables are invalid. */
export const s3OptionsOf = (environment: Environment): S3Options | string | undefined => {
  const given = (name: string): string | undefined => environment[`DOWSER_S3_${name}`] || undefined
  const endpoint = given("ENDPOINT"),
    bucket = given("BUCKET")
  if (endpoint === undefined && bucket === undefined) return undefined
  if (endpoint === undefined || bucket === undefined)
    return `DOWSER_S3_${endpoint === undefined ? "ENDPOINT" : "BUCKET"} is missing: the two go together.`
  const url = URL.parse(endpoint)
  if (
    url === null ||
    !/^https?:$/.test(url.protocol) ||
    url.username !== "" ||
    url.pathname !== "/" ||
    url.search !== ""
  )
    return `DOWSER_S3_ENDPOINT: \`${endpoint}\` is no address like https://host:9000 (the bucket goes into DOWSER_S3_BUCKET).`
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(bucket))
    return "DOWSER_S3_BUCKET: 3 to 63 small letters, digits, dots and -, as S3 names buckets."
  const accessKeyId = given("ACCESS_KEY_ID"),
    secretAccessKey = given("SECRET_ACCESS_KEY")
  if (accessKeyId === undefined || secretAccessKey === undefined)
    return "DOWSER_S3_ACCESS_KEY_ID and DOWSER_S3_SECRET_ACCESS_KEY must be given with DOWSER_S3_ENDPOINT."
  const prefix = given("PREFIX") ?? ""
  if (!/^([A-Za-z0-9_-]{1,64}\/)*$/.test(prefix) || prefix.length > 200)
    return "DOWSER_S3_PREFIX: letters, digits, _ and -, each part with a slash behind it: `media/`."
  return {
    endpoint: url.origin,
    bucket,
    region: given("REGION") ?? "us-east-1",
    accessKeyId,
    secretAccessKey,
    sessionToken: given("SESSION_TOKEN"),
    prefix
  }
}

/** `folder`: where blobs are stored if no bucket is named. */
export const layerBlobs = (environment: Environment, folder: string): Layer.Layer<BlobStore, StartRefused> => {
  const options = s3OptionsOf(environment)
  if (typeof options === "string") return Layer.unwrap(Effect.fail(new StartRefused(options)))
  return options === undefined ? layerFiles(folder) : layerS3(options)
}
