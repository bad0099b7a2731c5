/** Executes calls from a process without an engine in the process that has it, as that process's own program would. */
import { AnswerBudget } from "../budget/answer-budget.ts"
import { parseJson, stringifyJson } from "../documents/mod.ts"
import type { SearchBudget, SearchEngine, WriteVerdict } from "../engine.ts"
import { fail, ok, type Result } from "../errors.ts"
import { packed } from "../lane/portable.ts"
import type { SearchPlan, WriteOperation } from "../plan.ts"
import type { Document } from "../schema.ts"
import type { Call, PortableVerdict, PortableWrite, Replies } from "./messages.ts"

type Calls = { readonly [M in Call["method"]]: Extract<Call, { readonly method: M }> }
type Answers = {
  readonly [M in Call["method"]]: (
    engine: SearchEngine,
    namespace: string,
    call: Calls[M],
    isGivenUp: () => boolean
  ) => Promise<Replies[M]>
}

const operationOf = (write: PortableWrite): WriteOperation => {
  if (write.kind === "delete") return write
  const { isParsed, ...put } = write
  return isParsed ? { ...put, document: parseJson(put.document as string) as Document } : put
}
const verdictOf = ({ id, result }: WriteVerdict): PortableVerdict => {
  const named = id === undefined ? {} : { id }
  if (!result.ok) return { ...named, result }
  const { document, ...written } = result.value
  const value = document === undefined ? written : { ...written, document: stringifyJson(document) }
  return { ...named, result: ok(value) }
}

type Timed = Pick<Calls["search"], "left_ms" | "answer">
const budgetsOf = ({ answer, left_ms }: Timed, isGivenUp: () => boolean) => {
  const budget: SearchBudget = { limit_ms: left_ms, used_ms: 0, isGivenUp }
  const own = answer === undefined ? undefined : new AnswerBudget(answer.bytes_max)
  own?.holdAgain(answer!.held)
  return {
    budget,
    own,
    budgeted: (plan: SearchPlan): SearchPlan => (own === undefined ? plan : { ...plan, budget: own })
  }
}
const searched = <Answer>(answer: Answer, { budget, own }: ReturnType<typeof budgetsOf>) =>
  ok({
    answer,
    used_ms: budget.used_ms,
    isSlow: budget.isSlow === true,
    held: own?.held ?? 0,
    ...(own?.refusal === undefined ? {} : { refusal: own.refusal })
  })
const mapped = <A, B>(result: Result<A>, to: (value: A) => B): Result<B> => (result.ok ? ok(to(result.value)) : result)

const ANSWERS: Answers = {
  create: (engine, namespace, { created_at_s, keeps, schema }) =>
    engine.createCollection(namespace, schema, created_at_s, keeps),
  alter: (engine, namespace, { change, keeps, name }) => engine.alterCollection(namespace, name, change, keeps),
  drop: (engine, namespace, { name }) => engine.dropCollection(namespace, name),
  write: async (engine, namespace, { collection, keeps, operations, returnDocuments }) => {
    const options = { keeps, ...(returnDocuments === undefined ? {} : { returnDocuments }) }
    const written = await engine.write(namespace, collection, operations.map(operationOf), options)
    return mapped(written, (verdicts) => verdicts.map(verdictOf))
  },
  search: async (engine, namespace, { plans, ...timed }, isGivenUp) => {
    const budgets = budgetsOf(timed, isGivenUp)
    const found = await engine.search(namespace, plans.map(budgets.budgeted), budgets.budget)
    return searched(
      found.map((answer, i) => packed(answer, plans[i]!)),
      budgets
    )
  },
  union: async (engine, namespace, { plan, ...timed }, isGivenUp) => {
    const budgets = budgetsOf(timed, isGivenUp)
    const found = await engine.union(namespace, { ...plan, plans: plan.plans.map(budgets.budgeted) }, budgets.budget)
    return searched(packed(found, plan), budgets)
  },
  scan: async (engine, namespace, { request }) =>
    mapped(await engine.scan(namespace, request), ({ documents, ids, next }) => ({
      documents: documents.map(stringifyJson),
      ids,
      next
    })),
  get: async (engine, namespace, { collection, ids, selection }) =>
    mapped(await engine.get(namespace, collection, ids, selection), (documents) =>
      documents.map((document) => (document === undefined ? undefined : stringifyJson(document)))
    ),
  words: async (engine, namespace, { request }) =>
    engine.words?.(namespace, request) ?? fail({ kind: "Unavailable", message: "The engine does not know words." }),
  usage: async (engine, namespace, { name }) => ok(engine.usage(namespace, name))
}

type AnyAnswer = (
  engine: SearchEngine,
  namespace: string,
  call: Call,
  isGivenUp: () => boolean
) => Promise<Replies[Call["method"]]>
/** The method name comes from the other side, so it is looked up in a map. */
const BY_METHOD: ReadonlyMap<string, AnyAnswer> = new Map(Object.entries(ANSWERS) as Array<[string, AnyAnswer]>)

/** Rejects only on a defect. */
export const answerCall: AnyAnswer = (engine, namespace, call, isGivenUp) =>
  BY_METHOD.get(call.method)?.(engine, namespace, call, isGivenUp) ??
  Promise.resolve(fail({ kind: "Invalid", message: "There is no such call." }))
