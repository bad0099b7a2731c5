/**
 * A sample of every error that the source declares, or several where a fact changes the answer: first the errors that
 * belong to no room, then those of the rooms.
 */
import type { ErrorSample } from "../../src/room.ts"
import { rooms } from "../../src/rooms.ts"
import * as wire from "../../src/http/errors.ts"

export const samples: ReadonlyArray<ErrorSample> = [
  [
    "Unauthorized, missing",
    new wire.Unauthorized({ message: "Forbidden - a valid key must be sent.", reason: "missing" })
  ],
  [
    "Unauthorized, rejected",
    new wire.Unauthorized({ message: "Forbidden - a valid key must be sent.", reason: "rejected" })
  ],
  ["Unauthorized, scoped token", new wire.Unauthorized({ message: "The token has expired.", reason: "scoped_token" })],
  [
    "OrganizationPaused, payment",
    new wire.OrganizationPaused({ message: "The organization is paused.", reason: "payment" })
  ],
  [
    "OrganizationPaused, manual",
    new wire.OrganizationPaused({ message: "The organization is paused.", reason: "manual" })
  ],
  [
    "OrganizationUnavailable",
    new wire.OrganizationUnavailable({
      message: "What is stored of this organization cannot be read.",
      reason: "The preset `sale` is none.",
      retry_after_s: 60
    })
  ],
  ["BodyNotJson", new wire.BodyNotJson({ message: "Bad JSON." })],
  ["AddressNotAllowed", new wire.AddressNotAllowed({ message: "Not from this address." })],
  ["OriginNotAllowed", new wire.OriginNotAllowed({ message: "Not from this origin." })],
  ["ScopeDenied", new wire.ScopeDenied({ message: "The scope does not reach it." })],
  ["CollectionNotAllowed", new wire.CollectionNotAllowed({ message: "Not this collection." })],
  [
    "RestrictionNotApplicable",
    new wire.RestrictionNotApplicable({ message: "The forced filter does not fit the collection." })
  ],
  [
    "Throttled, rate",
    new wire.Throttled({ message: "Rate limit exceeded.", kind: "rate", retry_after_s: 12, limit: 600 })
  ],
  [
    "Throttled, backpressure",
    new wire.Throttled({ message: "Too many events wait.", kind: "backpressure", retry_after_s: 1 })
  ],
  [
    "Throttled, quota",
    new wire.Throttled({
      message: "The quota is used up.",
      kind: "quota",
      retry_after_s: 86_400,
      resets_at: 1_798_761_600_000
    })
  ],
  ["NotFound", new wire.NotFound({ message: "Not Found" })],
  ["Conflict", new wire.Conflict({ message: "It exists." })],
  ["SessionRequired", new wire.SessionRequired({ message: "Send X-SVC-SESSION-ID." })],
  [
    "InputInvalid",
    new wire.InputInvalid({
      message: "Input validation failed",
      issues: [
        { path: "events[3].type", message: "Expected a type" },
        { path: "", message: "Expected an object" }
      ]
    })
  ],
  ["EngineRefusal, 400", new wire.EngineRefusal({ message: "Parameter `q` is required.", status: 400 })],
  ["EngineRefusal, 409", new wire.EngineRefusal({ message: "A document with id 1 already exists.", status: 409 })],
  ["EngineUnavailable", new wire.EngineUnavailable({ message: "The search engine is unreachable." })],
  ["EngineOverloaded", new wire.EngineOverloaded({ message: "The search engine rests.", retry_after_s: 10 })],
  ["SearchTimedOut", new wire.SearchTimedOut({ message: "The search took longer than 10 seconds." })],
  ["InternalError", new wire.InternalError({ message: "Unexpected error.", requestId: "req_1" })],
  [
    "ConfigurationUnavailable",
    new wire.ConfigurationUnavailable({
      message: "The configuration cannot be read at the moment.",
      retry_after_s: 5
    })
  ],
  ...rooms.all.flatMap(({ errorSamples = [] }) => errorSamples)
]
