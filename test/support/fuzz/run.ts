/**
 * Sends hostile requests made from a seed and reports violations of the contract. Each request can be remade from its
 * number alone.
 */
import { makeRandom, type Random } from "../../../fixtures/random.ts"
import { chunked, RawConnection, type RawAnswer, requestBytes } from "../raw-http.ts"
import { securedKey } from "../secured.ts"
import { besideContract, type Described, owedByAll } from "./described.ts"
import { bodyOf, calmBodyOf, escaped, exampleOf, mutated, pathTricks, queryOf, texts, type Hints } from "./hostile.ts"
import type { Organization } from "./world.ts"

interface FuzzOptions {
  readonly port: number
  readonly seed: string
  readonly operations: ReadonlyArray<Described>
  /** Sends. */ readonly attacker: Organization
  /** The organization that operators' requests act on. */ readonly decoy: Organization
  readonly operatorToken: string
  /** Answers never name it. */ readonly folder: string
  readonly connections: number
}
export interface Fault {
  readonly number: number
  readonly operation: string
  readonly why: string
  readonly request: string
  readonly answer: string
}
interface FuzzReport {
  readonly faults: ReadonlyArray<Fault>
  readonly statuses: Readonly<Record<string, number>>
  readonly answered: ReadonlyMap<string, number>
  readonly slowest: ReadonlyArray<readonly [ms: number, request: string]>
}

const hintsOf = ({ organization_id }: Organization): Hints => {
  const filters = [
    "stock:>1",
    "title:=`Title 1 of Attacker`",
    "tags:[all,t1] && stock:[1..5]",
    "place:(1,2,50 km)",
    "id:*",
    "$makers(code:=m1)",
    "(stock:>1 || is_new:true) && title:!=x",
    "price:<2",
    "detail.size:=1"
  ]
  const hosts = ["http://127.0.0.1:9/hook", "https://hooks.example/", "http://localhost:1/"]
  return {
    q: ["*", "title", "titel", '"title 1" -of'],
    query_by: ["title", "title,tags", "detail.size", "vector"],
    filter_by: filters,
    exclusion_filter_by: filters,
    sort_by: [
      "stock:desc",
      "_text_match:desc,price:asc",
      "place(1,2):asc",
      "_eval(stock:>1):desc",
      "_rand(5):asc",
      "$makers(code:asc)"
    ],
    facet_by: ["tags", "stock(a:[0,10],b:[10,60])", "title,tags,is_new"],
    facet_query: ["tags:a"],
    group_by: ["tags", "title"],
    group_limit: ["2", 3],
    per_page: ["10", 5],
    page: ["1", 2],
    include_fields: ["title,$makers(*)", "*"],
    exclude_fields: ["vector"],
    pinned_hits: ["d1:1,d2:2"],
    hidden_hits: ["d3,d4"],
    vector_query: ["vector:([1,2,3,4], k: 5)", "vector:([], id: d1)"],
    highlight_fields: ["title"],
    preset: ["one"],
    profile: ["one"],
    search_policy: ["one"],
    sort: ["stock"],
    expected_revision: [1, 2],
    stopwords: ["one"],
    synonym_sets: ["one"],
    curation_sets: ["one"],
    collection: ["goods", "shop"],
    collection_name: ["goods", "shop"],
    collections: [["goods"]],
    destination_collection: ["spare"],
    reference: ["makers.code"],
    type: ["string", "search", "click", "int32", "object", "counter", "popular_queries", "auto"],
    event_type: ["click"],
    counter_field: ["stock"],
    events: [["*"], ["ingest.completed"]],
    doc_id: ["d1"],
    document_id: ["d1", "d2"],
    id: ["one", "d1", "new"],
    name: ["title", "one", ".*"],
    url: hosts,
    from: ["2026-01-01", "2026-11-21"],
    to: ["2026-12-31", "2026-11-21"],
    starts_at: ["2026-01-01T00:00:00Z"],
    ends_at: ["2027-01-01T00:00:00Z"],
    action: ["upsert", "create", "update", "emplace"],
    dirty_values: ["coerce_or_drop", "reject"],
    limit: ["10", 10],
    cursor: ["x", "MQ"],
    event_id: ["e1", "e2"],
    session_id: ["s"],
    organization_id: [organization_id],
    email: ["a@b.example"],
    role: ["admin", "owner"],
    password: ["a long enough password"],
    value: [{ q: "title" }],
    union: [true, false],
    match: ["exact", "contains", "partial"],
    query: ["title"]
  }
}

interface Shot {
  readonly bytes: Buffer
  readonly operation: Described
  readonly text: string
  /** The path certainly belongs to the operation. */ readonly isMatched: boolean
}

/** Names of things that the organization does not depend on. */
const strangers = texts.filter((text) => text !== "goods")

/** Chosen more often: their inputs are languages of their own. */
const weights: Readonly<Record<string, number>> = {
  searchCollection: 8,
  multiSearch: 6,
  previewSearchRule: 4,
  ingestEvents: 4,
  upsertSearchRule: 3,
  createCollection: 2,
  importDocuments: 3,
  updateDocuments: 2,
  createKey: 2,
  upsertCurationSet: 2,
  upsertSynonymSet: 2,
  createSession: 0.2,
  changeOwnPassword: 0.2
}

const shotOf = (
  { attacker, decoy, operations, operatorToken, seed }: FuzzOptions,
  wheel: ReadonlyArray<Described>,
  number: number
): Shot => {
  const random = makeRandom(`${seed}/${number}`)
  // Every operation is called once before they are chosen at random: a request as its users write it, since refusals
  // prove little.
  const isCalm = number < operations.length
  const operation = isCalm ? operations[number]! : random.pick(wheel)
  const isConsole = operation.scope === "console" || operation.scope === "operator"
  const owner = isConsole ? decoy : attacker
  const hints = hintsOf(owner)
  let isMatched = true
  const destroys = operation.method === "DELETE" || operation.id === "deleteDocuments"
  const target =
    operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
      if (name === "organizationId")
        return isCalm || random.chance(0.85) ? owner.organization_id : escaped(random.pick(texts) || "x")
      if (!isCalm && random.chance(0.1)) {
        isMatched = false
        return random.pick(pathTricks)
      }
      const known =
        owner.ids[name] ??
        (name === "collectionName"
          ? destroys
            ? ["spare"]
            : ["goods", "goods", "shop", "makers"]
          : name === "documentId"
            ? ["d1", "d2", "d59"]
            : name === "dictionaryId"
              ? ["one", "plurals"]
              : destroys
                ? ["one", "spare"]
                : ["one", "shop"])
      const given =
        isCalm || random.chance(destroys ? (name in owner.ids ? 0.1 : 0.4) : 0.8)
          ? random.pick(known)
          : random.pick(destroys ? strangers : texts)
      // A dot, an empty part or a neighbour's name is another address.
      if (/^(\.{0,2}|search|import|export|current|failed)$/.test(given)) {
        isMatched = false
        return escaped(given)
      }
      return escaped(given)
    }) + queryOf(operation, random, hints, isCalm)
  const { bytes, headers } = isCalm ? calmBodyOf(operation, random, hints) : bodyOf(operation, random, hints)
  const isRead = operation.method === "GET"
  const body = isRead && random.chance(0.9) ? Buffer.alloc(0) : bytes
  const frame: Array<readonly [string, string]> = []
  const isChunked = !isCalm && body.length > 0 && body.length < 50_000 && random.chance(0.06)
  if (isChunked) frame.push(["transfer-encoding", "chunked"])
  const payload = isChunked
    ? chunked(
        body,
        1 + random.below(Math.max(1, body.length)),
        random.chance(0.3) ? "x-svc-api-key: trailer\r\n__proto__: x\r\n" : ""
      )
    : body
  const bytesOut = requestBytes(
    operation.method,
    target,
    [
      ...credentials(operation, owner, operatorToken, random, hints, isCalm),
      ...(isRead && body.length === 0 ? [] : headers),
      ...frame,
      ...(isCalm ? [] : odd(random))
    ],
    payload
  )
  return {
    operation,
    isMatched: isMatched && target.length < 4_000,
    bytes: bytesOut,
    text: `${operation.method} ${target.slice(0, 600)} ${JSON.stringify(headers)} ${body.toString("latin1").slice(0, 1_500)}`
  }
}

const credentials = (
  operation: Described,
  owner: Organization,
  operatorToken: string,
  random: Random,
  hints: Hints,
  isCalm: boolean
): ReadonlyArray<readonly [string, string]> => {
  if (operation.scope === "public") return []
  const isConsole = operation.scope === "console" || operation.scope === "operator"
  const isOfModule = operation.scope === "installation"
  const isBearer = isConsole || isOfModule || operation.plane === "gateway"
  const key = isConsole ? operatorToken : isOfModule ? owner.installation_key : owner.full_key
  const put = (value: string): ReadonlyArray<readonly [string, string]> =>
    isBearer
      ? [["authorization", `Bearer ${value}`]]
      : [[random.chance(0.9) ? "x-svc-api-key" : "x-typesense-api-key", value]]
  const way = random.next()
  if (isCalm || way < 0.88) return put(key)
  if (way < 0.92) return put(owner.search_key)
  if (way < 0.95) {
    const parameters = mutated(
      {
        filter_by: "stock:>1",
        expires_at: 4_000_000_000,
        exclude_fields: "vector",
        limit_hits: 5,
        collection: "goods",
        ...(exampleOf(
          { type: "object", properties: { filter_by: { type: "string" }, sort_by: { type: "string" } } },
          (schema) => schema,
          random,
          hints
        ) as object)
      },
      random
    )
    return put(
      Buffer.from(
        securedKey(
          owner.search_key,
          (typeof parameters === "object" && parameters !== null ? parameters : { parameters }) as Record<
            string,
            unknown
          >
        )
      ).toString()
    )
  }
  if (way < 0.97)
    return put(
      random.pick([
        "x",
        "x".repeat(76),
        "__proto__",
        "a".repeat(5_000),
        `${key} `,
        key.slice(0, -1),
        Buffer.from(`{"${"a".repeat(900)}`).toString("base64"),
        "=".repeat(80)
      ])
    )
  if (way < 0.98) return [...put(key), ["x-svc-api-key", owner.search_key]]
  return []
}
const odd = (random: Random): ReadonlyArray<readonly [string, string]> =>
  random.chance(0.8)
    ? []
    : [
        random.pick<readonly [string, string]>([
          ["x-request-id", random.pick(["ok-1", "x".repeat(200), "a\tb", "\u00ff\u00fe", "__proto__", "<script>"])],
          ["origin", random.pick(["null", "https://evil.example", "x".repeat(3_000), "\u00ff"])],
          ["x-forwarded-for", random.pick(["127.0.0.1", "::1, unknown", ",".repeat(500), "[", "1.2.3.4:99999"])],
          [
            "cookie",
            random.pick([
              "dowser_session=x",
              "dowser_session=; dowser_session=%zz",
              ";".repeat(500),
              `dowser_session=${"a".repeat(4_000)}`
            ])
          ],
          ["accept-encoding", "br;q=x, *;q=NaN"],
          ["accept-language", random.pick(["*", "x".repeat(2_000), "de;q=1e999,en"])],
          ["user-agent", "(".repeat(2_000)],
          ["x-svc-session-id", random.pick([" ", "\u00ff", "s".repeat(3_000), "__proto__"])],
          ["idempotency-key", random.pick(["", "x".repeat(3_000), "__proto__"])],
          ["x-http-method-override", "DELETE"],
          ["range", "bytes=0-,-1"],
          ["if-none-match", "*"],
          ["content-type", 'application/json; charset="\\'],
          ["__proto__", "x"],
          ["constructor", "x"],
          ["connection", random.pick(["close", "x-svc-api-key", "upgrade"])],
          ["te", "trailers"],
          ["host", "evil.example"],
          ["expect", "100-continue"]
        ])
      ]

/** `from` … `to` − 1; stops making new requests when `isOver` returns true. */
export const fuzz = async (options: FuzzOptions, from: number, to: number): Promise<FuzzReport> => {
  const wheel = options.operations.flatMap((operation) =>
    Array.from({ length: Math.ceil((weights[operation.id] ?? 1) * 5) }, () => operation)
  )
  const faults: Array<Fault> = []
  const statuses: Record<string, number> = {}
  const answered = new Map<string, number>()
  const slowest: Array<readonly [number, string]> = []
  let next = from
  const worker = async () => {
    const connection = new RawConnection(options.port)
    for (let number = next++; number < to; number = next++) {
      const shot = shotOf(options, wheel, number)
      const fault = (why: string, answer?: RawAnswer) =>
        faults.push({
          number,
          operation: shot.operation.id,
          why,
          request: shot.text,
          answer: answer === undefined ? "" : `${answer.status} ${answer.text.slice(0, 400)}`
        })
      const started = performance.now()
      try {
        const [answer] = await connection.exchange(shot.bytes)
        const took = performance.now() - started
        if (took > 200) slowest.push([Math.round(took), `#${number} ${answer!.status} ${shot.text.slice(0, 400)}`])
        statuses[answer!.status] = (statuses[answer!.status] ?? 0) + 1
        if (answer!.status < 400) answered.set(shot.operation.id, (answered.get(shot.operation.id) ?? 0) + 1)
        const why =
          owedByAll(answer!, options.folder) ?? (shot.isMatched ? besideContract(shot.operation, answer!) : undefined)
        if (why !== undefined) fault(why, answer)
      } catch (error) {
        connection.close()
        fault(String(error))
      }
    }
    connection.close()
  }
  await Promise.all(Array.from({ length: options.connections }, worker))
  return { faults, statuses, answered, slowest: slowest.sort((a, b) => b[0] - a[0]).slice(0, 15) }
}
