/** Events of shops' visitors, accepted and stored, with replays and erasures. */
import { Effect, Layer } from "effect"
import { Events } from "./intake/service.ts"
import { FailedEvents } from "./failed/failed.ts"
import { Installation } from "../installation.ts"
import { Replays } from "./replays/replays.ts"
import { SearchServed } from "../search/serve-log.ts"
import { expireRejections } from "./failed/failed-repository.ts"
import { PersonErasures } from "../identity/person-erasures.ts"
import { layerAdmission } from "./intake/admission.ts"
import { metrics } from "./metrics.ts"
import { routes } from "./routes.ts"
import { seeds } from "./seeds.ts"
import { defineRoom } from "../room.ts"
import { errorSamples } from "./error-samples.ts"

export const room = defineRoom({
  name: "events",
  routes,
  errorSamples,
  reaches: {
    ingestEvents: "each",
    listFailedEvents: "each",
    retryFailedEvents: "each",
    replayEvents: "organization",
    eraseSubject: "organization"
  },
  groups: { events: "What visitors do: reported, repaired, replayed and erased." },
  seeds,
  layer: Layer.unwrap(
    Effect.map(Installation, ({ visitorPartitions, weights }) =>
      Layer.mergeAll(
        Layer.provideMerge(
          FailedEvents.layer,
          Layer.provide(Events.layer({ visitorPartitions }), layerAdmission(weights === undefined ? {} : { weights }))
        ),
        Replays.layer({ visitorPartitions }),
        PersonErasures.layer,
        SearchServed.layer({ visitorPartitions })
      )
    )
  ),
  expiries: [expireRejections],
  metrics
})
