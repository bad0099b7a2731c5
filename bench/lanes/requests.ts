/**
 * Question: how often does the embedded model `dowser/rules` interpret a request in words exactly as intended, and how
 * long does it take? Workload: generated requests in five languages whose filter and order are known by construction
 * (`fixtures/requests`). Exact means every clause and the order, and nothing else. Inexact readings are printed.
 */
import { requestLanguages } from "../../fixtures/requests/generate.ts"
import { machine, percentiles, report, round } from "../harness/harness.ts"
import { readRequests, type RequestReading } from "../inputs/requests.ts"

export interface RequestsOptions {
  readonly count: number
  readonly seed: number
  readonly out: string | undefined
}
const share = (readings: ReadonlyArray<RequestReading>, isSo: (reading: RequestReading) => boolean): number =>
  round(readings.filter(isSo).length / readings.length, 4)

export const benchRequests = async ({ count, out, seed }: RequestsOptions): Promise<void> => {
  const readings = readRequests(seed, count)
  const isExact = (reading: RequestReading) => reading.isExact
  const times = percentiles(readings.map(({ took_ms }) => took_ms))
  const missed = readings.filter((reading) => !reading.isExact)
  for (const { filter_by, request, sort_by } of missed)
    console.log(
      `${request.language}: ${request.q}\n  meant ${request.filters.join(" && ")} ${request.sort_by}\n  read  ${filter_by} ${sort_by}`
    )
  const languages = requestLanguages.map((language) => [
    language,
    share(
      readings.filter(({ request }) => request.language === language),
      isExact
    )
  ])
  report(
    "requests",
    {
      machine: machine(),
      requests: readings.length,
      exact: { all: share(readings, isExact), ...Object.fromEntries(languages) },
      kept: share(readings, ({ keepsRest }) => keepsRest),
      p50: round(1_000 * times.p50_ms, 1),
      p99: round(1_000 * times.p99_ms, 1)
    },
    out
  )
}
