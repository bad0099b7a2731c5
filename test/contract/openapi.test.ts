/**
 * The OpenAPI documents pass the recommended rules of Redocly's linter, warnings included, and declare how every body
 * travels: JSON, JSON Lines, server-sent events, raw bytes.
 */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { implement } from "../../src/api/implement.ts"
import { openApiOf } from "../../src/api/openapi.ts"
import { EngineRefusal, engineRefusal, NotFound } from "../../src/http/errors.ts"
import { type Operation, operation } from "../../src/http/operation.ts"
import { type Program, startProgram } from "../support/program.ts"

class LengthRequired extends Schema.TaggedError<LengthRequired>()(
  "LengthRequired",
  { message: Schema.String },
  { httpApiStatus: 411 }
) {}
const root = new URL("../..", import.meta.url).pathname
let program: Program
let folder: string
beforeAll(async () => {
  program = await startProgram()
  folder = mkdtempSync(join(tmpdir(), "dowser-lint-"))
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await program.stop()
})

/** Reports it on exit if the linter tries to make a request. */
const watched = `import net from "node:net"; net.Socket.prototype.connect = () => { process.stderr.write("CONNECTS"); process.exit(9) }`
const lint = (document: unknown): ReadonlyArray<string> => {
  const file = join(folder, "openapi.json")
  writeFileSync(file, JSON.stringify(document))
  const { stderr, stdout } = spawnSync(
    "node",
    [
      "--import",
      `data:text/javascript,${encodeURIComponent(watched)}`,
      join(root, "node_modules", "@redocly", "cli", "bin", "cli.js"),
      "lint",
      file,
      "--extends=recommended",
      "--format=json",
      "--max-problems=1000"
    ],
    {
      // In a folder without our configuration, which would lower the bar. The linter reports nothing home and looks
      // nothing up.
      cwd: folder,
      encoding: "utf8",
      maxBuffer: 64_000_000,
      env: { ...process.env, CI: "true", REDOCLY_TELEMETRY: "off", REDOCLY_SUPPRESS_UPDATE_NOTICE: "true" }
    }
  )
  expect(stderr).not.toContain("CONNECTS")
  const { problems } = JSON.parse(stdout.slice(stdout.indexOf("{"))) as {
    readonly problems: ReadonlyArray<{
      readonly ruleId: string
      readonly message: string
      readonly location: ReadonlyArray<{ readonly pointer?: string }>
    }>
  }
  return (
    problems
      .map(({ location, message, ruleId }) => `${ruleId}: ${message} (${location[0]?.pointer})`)
      // A WebSocket succeeds with 101, as its document declares.
      .filter((problem) => !/^operation-2xx-response: .*voice_stream\/get\/responses\)$/.test(problem))
  )
}

describe("the documents", () => {
  it.each(["/v1/openapi.json", "/api/v1/openapi.json"])(
    "%s: no rule of the linter objects, and it would",
    async (path) => {
      const { body } = await program.request("GET", path)
      expect(lint(body)).toEqual([])
      const { servers: _servers, ...without } = body
      expect(lint({ ...without, tags: [] }).map((problem) => problem.split(":")[0])).toContain("no-empty-servers")
      expect(body.info.version).toBe("1.0.0")
      expect(body.info.license).toEqual({
        name: JSON.parse(readFileSync(join(root, "package.json"), "utf8")).license,
        identifier: "Apache-2.0"
      })
    }
  )
})

it("an operation without a description, without an example, or with an example that lacks a name of its path does not compile", () => {
  const at = {
    group: "documents",
    id: "one",
    method: "GET",
    plane: "control",
    scope: "search",
    summary: "Of the test"
  } as const
  const described = { ...at, description: "Of the test." } as const
  // The type checker enforces these: each expects a type error, and a missing one is an error (`npm run check`).
  const refused = [
    // @ts-expect-error no description
    () => operation({ ...at, path: "/v1/t", example: {} }),
    // @ts-expect-error no example
    () => operation({ ...described, path: "/v1/t" }),
    // @ts-expect-error an example without the name in the path
    () => operation({ ...described, path: "/v1/t/:mediaId", example: {} }),
    () =>
      operation({
        ...described,
        path: "/v1/t",
        query: Schema.Struct({ limit: Schema.String }),
        // @ts-expect-error a query that the operation does not have
        example: { query: { limit: 5 } }
      }),
    // @ts-expect-error the schema of a name that is not in the path
    () => operation({ ...described, path: "/v1/t", example: {}, params: { mediaId: Schema.String } })
  ]
  expect(refused.length).toBe(5)
})
describe("errors and callers", () => {
  const at = {
    group: "documents",
    id: "one",
    method: "GET",
    plane: "control",
    scope: "public",
    summary: "Of the test",
    description: "Of the test.",
    path: "/v1/t",
    example: {}
  } as const
  const options = {
    title: "Test",
    version: "1.0.0",
    description: "Of the test.",
    groups: new Map([["documents", "Of the test."]]),
    roles: new Map()
  }
  it("that an operation does not declare do not compile in its handler, and those of its scope need not be declared", () => {
    const missing = Effect.fail(new NotFound({ message: "None." }))
    implement(operation({ ...at, errors: [NotFound] }), () => missing)
    implement(operation({ ...at, scope: "operator" }), () => missing)
    // @ts-expect-error it is not declared
    implement(operation({ ...at }), () => missing)
    // @ts-expect-error another one is declared
    implement(operation({ ...at, errors: [LengthRequired] }), () => missing)
    // @ts-expect-error a status is no error
    operation({ ...at, errors: [404] })
    implement(operation({ ...at, errors: [engineRefusal(404)] }), () =>
      Effect.fail(new EngineRefusal({ message: "None.", status: 404 }))
    )
  })
  it("the caller is available to its handler by its scope alone", () => {
    implement(operation({ ...at, scope: "search" }), ({ caller }) => Effect.succeed(caller.organizationId))
    implement(operation({ ...at, scope: "console" }), ({ consoleCaller }) => Effect.succeed(consoleCaller.type))
    // @ts-expect-error a member is no key
    implement(operation({ ...at, scope: "console" }), ({ caller }) => Effect.succeed(caller))
    // @ts-expect-error a key is no member
    implement(operation({ ...at, scope: "full" }), ({ consoleCaller }) => Effect.succeed(consoleCaller))
    // @ts-expect-error nobody asks
    implement(operation({ ...at, scope: "public" }), ({ caller }) => Effect.succeed(caller))
    // @ts-expect-error the operator is nobody
    implement(operation({ ...at, scope: "operator" }), ({ consoleCaller }) => Effect.succeed(consoleCaller))
  })
  it("are in the document with the statuses of their classes", () => {
    const statusesOf = (one: Operation) => {
      const { paths } = openApiOf([one], options) as { readonly paths: Record<string, Record<string, any>> }
      return Object.keys(paths["/v1/t"]!.get.responses)
    }
    expect(statusesOf(operation({ ...at }))).toEqual(["200", "431", "500"])
    expect(statusesOf(operation({ ...at, errors: [LengthRequired, engineRefusal(404, 409)] }))).toEqual([
      "200",
      "404",
      "409",
      "411",
      "431",
      "500"
    ])
    expect(statusesOf(operation({ ...at, scope: "full" }))).toEqual([
      "200",
      "400",
      "401",
      "402",
      "403",
      "429",
      "500",
      "503"
    ])
    expect(() => statusesOf(operation({ ...at, errors: [EngineRefusal] }))).toThrow("without a status of its own")
  })
})
describe("names in the path", () => {
  const one = operation({
    group: "documents",
    id: "one",
    method: "GET",
    plane: "control",
    scope: "public",
    summary: "Of the test",
    description: "Of the test.",
    path: "/v1/t/:mediaId/pages/:page",
    params: {
      page: Schema.String.check(Schema.isPattern(/^\d$/)).annotate({ description: "From 0 to 9." })
    },
    example: { params: { mediaId: "m1", page: "3" } }
  })
  it("are all that its handler receives", () => {
    implement(one, ({ params }) => Effect.succeed(params.mediaId + params.page))
    // @ts-expect-error no such name
    implement(one, ({ params }) => Effect.succeed(params.deliveryId))
  })
  it("are in the document with the constraints of their schemas", () => {
    const { paths } = openApiOf([one], {
      title: "Test",
      version: "1.0.0",
      description: "Of the test.",
      groups: new Map([["documents", "Of the test."]]),
      roles: new Map()
    }) as { readonly paths: Record<string, Record<string, any>> }
    expect(paths["/v1/t/{mediaId}/pages/{page}"]!.get.parameters).toEqual([
      { name: "mediaId", in: "path", required: true, schema: { type: "string" }, example: "m1" },
      {
        name: "page",
        in: "path",
        required: true,
        schema: expect.objectContaining({ type: "string", description: "From 0 to 9." }),
        example: "3"
      }
    ])
  })
})
it("a group of operations that no room explains is refused when documents are made", () => {
  const one = operation({
    group: "nowhere",
    id: "one",
    method: "GET",
    plane: "control",
    scope: "search",
    summary: "Of the test",
    path: "/v1/t",
    description: "Of the test.",
    example: {}
  })
  expect(() =>
    openApiOf([one], {
      title: "Test",
      version: "1.0.0",
      description: "Of the test.",
      groups: new Map(),
      roles: new Map()
    })
  ).toThrow("No room explains its group of operations nowhere.")
})

describe("bodies", () => {
  const at = {
    group: "documents",
    plane: "control",
    scope: "search",
    summary: "Of the test",
    description: "Of the test."
  } as const
  const Answer = Schema.Struct({ text: Schema.String }).annotate({ identifier: "ChatAnswer" })
  const documented = openApiOf(
    [
      operation({
        ...at,
        id: "chat",
        method: "POST",
        path: "/v1/t/chat",
        payload: Schema.Struct({ stream: Schema.optionalKey(Schema.Boolean) }).annotate({ identifier: "Chat" }),
        success: Answer,
        successMedia: ["application/json", "text/event-stream"],
        isAi: true,
        example: { body: { stream: true } }
      }),
      operation({
        ...at,
        id: "follow",
        method: "GET",
        path: "/v1/t/:threadId/stream",
        successType: "event_stream",
        example: { params: { threadId: "t1" } }
      }),
      operation({
        ...at,
        id: "upload",
        method: "PUT",
        path: "/v1/t/:mediaId/content",
        payload: Schema.Uint8Array,
        payloadType: "bytes",
        payloadMedia: ["image/png", "application/octet-stream"],
        status: 201,
        errors: [LengthRequired, { of: LengthRequired, statuses: [413] }],
        example: { params: { mediaId: "m1" }, body: "bytes" }
      }),
      operation({
        ...at,
        id: "download",
        method: "GET",
        path: "/v1/t/:mediaId/content",
        successType: "bytes",
        example: { params: { mediaId: "m1" } }
      }),
      operation({
        ...at,
        id: "lines",
        method: "POST",
        path: "/v1/t/lines",
        payload: Schema.String,
        payloadType: "jsonl",
        successType: "jsonl",
        example: { body: "{}\n" }
      })
    ],
    {
      title: "Test",
      version: "1.0.0",
      description: "Of the test.",
      groups: new Map([["documents", "Of the test."]]),
      roles: new Map()
    }
  ) as { readonly paths: Record<string, Record<string, any>> }
  const contentOf = (path: string, method: string, status: number) =>
    documented.paths[path]![method].responses[status].content
  it("that stream, and raw ones, are in the document by their media types", () => {
    expect(contentOf("/v1/t/chat", "post", 200)).toEqual({
      "application/json": { schema: { $ref: "#/components/schemas/ChatAnswer" } },
      "text/event-stream": { schema: { type: "string", description: expect.stringContaining("events") } }
    })
    expect(Object.keys(contentOf("/v1/t/{threadId}/stream", "get", 200))).toEqual(["text/event-stream"])
    expect(documented.paths["/v1/t/{mediaId}/content"]!.put.requestBody.content).toEqual({
      "image/png": { schema: { type: "string", format: "binary" }, example: "bytes" },
      "application/octet-stream": { schema: { type: "string", format: "binary" }, example: "bytes" }
    })
    expect(Object.keys(documented.paths["/v1/t/{mediaId}/content"]!.put.responses)).toEqual(
      expect.arrayContaining(["201", "411", "413"])
    )
    expect(contentOf("/v1/t/{mediaId}/content", "get", 200)).toEqual({
      "application/octet-stream": { schema: { type: "string", format: "binary" } }
    })
    expect(Object.keys(documented.paths["/v1/t/lines"]!.post.requestBody.content)).toEqual([
      "text/plain",
      "application/x-ndjson"
    ])
    expect(Object.keys(contentOf("/v1/t/lines", "post", 200))).toEqual(["application/x-ndjson"])
    expect(lint(documented)).toEqual([])
  })
  it("of the rooms too", async () => {
    const {
      body: { paths }
    } = await program.request("GET", "/v1/openapi.json")
    expect(Object.keys(paths["/v1/events"].post.requestBody.content)).toEqual([
      "application/json",
      "application/x-ndjson"
    ])
    const lines = paths["/v1/collections/{collectionName}/documents/import"].post
    expect(Object.keys(lines.requestBody.content)).toEqual(["text/plain", "application/x-ndjson"])
    expect(lines.requestBody.content["text/plain"].example).toContain("\n{")
    expect(Object.keys(paths["/v1/collections/{collectionName}/documents/export"].get.responses[200].content)).toEqual([
      "text/plain"
    ])
  })
})
