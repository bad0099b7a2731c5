/** Schedules of repeated work: five fields of cron, in UTC. Pure. */
import { Cron, Result } from "effect"

const CRON_CHARACTERS_MAX = 120
const cronOf = (text: string): Cron.Cron | undefined => {
  if (text.trim().split(/\s+/).length !== 5) return undefined
  const parsed = Cron.parse(text.trim(), "UTC")
  return Result.isSuccess(parsed) ? parsed.success : undefined
}
/** The first time after `now` (ms); undefined if there is none, such as for the 30th of February. */
export const nextRunAt = (cron: string | undefined, now: number): number | undefined => {
  const parsed = cron === undefined ? undefined : cronOf(cron)
  if (parsed === undefined) return undefined
  try {
    return Cron.next(parsed, new Date(now)).getTime()
  } catch {
    return undefined
  }
}
export const cronRefusal = (value: unknown): string | undefined => {
  if (value === undefined || value === null) return undefined
  const wrong = "Five fields of cron in UTC: minute, hour, day, month, weekday"
  if (typeof value !== "string" || value.length > CRON_CHARACTERS_MAX || cronOf(value) === undefined) return wrong
  return nextRunAt(value, 0) === undefined ? "There is no such time" : undefined
}
