/** Which running program a command addresses: the one at `--url`, or the one that runs on `--data-dir`. */
import { Effect } from "effect"
import { readRunning, StartRefused } from "../runtime/data-folder.ts"

interface Target {
  readonly url: string
  readonly operatorToken: string | undefined
}
export interface TargetFlags {
  readonly url: string | undefined
  readonly dataDir: string
  readonly operatorToken: string | undefined
}

export const resolveTarget = (flags: TargetFlags): Effect.Effect<Target, StartRefused> => {
  if (flags.url !== undefined)
    return Effect.succeed({
      url: flags.url.replace(/\/+$/, "").replace(/\/v1$/, ""),
      operatorToken: flags.operatorToken
    })
  const running = readRunning(flags.dataDir)
  return running === undefined || running.url === ""
    ? Effect.fail(
        new StartRefused(`No running Dowser owns the data folder ${flags.dataDir}; start one, or name it with --url.`)
      )
    : Effect.succeed({ url: running.url, operatorToken: flags.operatorToken ?? running.operator_token })
}

const refusalText = (body: unknown, status: number): string => {
  const it = (typeof body === "object" && body !== null ? body : {}) as {
    readonly message?: string
    readonly data?: { readonly issues?: ReadonlyArray<{ readonly path: string; readonly message: string }> }
  }
  const issues = it.data?.issues?.map((issue) => `${issue.path}: ${issue.message}`).join("; ")
  return `${it.message ?? `HTTP ${status}`}${issues === undefined ? "" : ` (${issues})`}`
}

/** Sends one JSON request; a refusal becomes one sentence. */
const call = (
  url: string,
  method: string,
  headers: Readonly<Record<string, string>>,
  body?: unknown
): Effect.Effect<unknown, StartRefused> =>
  Effect.tryPromise({
    try: async () => {
      const response = await fetch(url, {
        method,
        headers: { "content-type": "application/json", ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      const text = await response.text()
      const parsed: unknown = text === "" ? undefined : JSON.parse(text)
      if (!response.ok) throw new StartRefused(refusalText(parsed, response.status))
      return parsed
    },
    catch: (error) =>
      error instanceof StartRefused
        ? error
        : new StartRefused(`${new URL(url).origin} does not answer: ${(error as Error).message}.`)
  })

export const callOperator = (
  target: Target,
  method: string,
  path: string,
  body?: unknown
): Effect.Effect<unknown, StartRefused> =>
  target.operatorToken === undefined
    ? Effect.fail(
        new StartRefused(
          "With --url, give the operator's token as --operator-token or DOWSER_OPERATOR_TOKEN (it is in the data folder's operator.token)."
        )
      )
    : call(`${target.url}/console/v1${path}`, method, { authorization: `Bearer ${target.operatorToken}` }, body)
