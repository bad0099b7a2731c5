/**
 * A check before a publication, if a request asks for it: a suite of judged searches run with the active release and
 * with the draft. The room of quality provides it.
 */
import { Context, type Effect } from "effect"
import type { NotFound } from "../http/errors.ts"
import type { ProfileManifest } from "./manifest.ts"

interface GateQuestion {
  readonly organizationId: string
  readonly collection: string
  readonly profile: string
  readonly suiteId: string
  /** Largest accepted drop of nDCG@10. */ readonly maxDrop: number
  /** The active manifest; undefined before the first publication. */ readonly before: ProfileManifest | undefined
  readonly after: ProfileManifest
}
export interface GateVerdict {
  /** nDCG@10. */ readonly before: number | null
  readonly after: number
  /** The queries that lose most. */ readonly worst: ReadonlyArray<{
    readonly q: string
    readonly before: number | null
    readonly after: number
  }>
  readonly passes: boolean
}
export class PublishGate extends Context.Service<
  PublishGate,
  {
    /** NotFound for an unknown suite. */
    readonly judge: (question: GateQuestion) => Effect.Effect<GateVerdict, NotFound>
  }
>()("dowser/profiles/PublishGate") {}
