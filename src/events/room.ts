/** What shops' visitors do, accepted and kept; replays of it, erasures from it. */
import { Effect, Layer } from "effect"
import { Events } from "./service.ts"
import { FailedEvents } from "./failed.ts"
import { Installation } from "../installation.ts"
import { Replays } from "./replays.ts"
import { SearchServed } from "./serve-log.ts"
import { expireRejections } from "./failed-repository.ts"
import { layerAdmission } from "./admission.ts"
import { routes } from "./routes.ts"
import { seeds } from "./seeds.ts"
import { defineRoom } from "../room.ts"

export const room = defineRoom({
  name: "events",
  routes,
  groups: { events: "What visitors do: reported, repaired, replayed and erased." },
  seeds,
  layer: Layer.unwrap(Effect.map(Installation, ({ visitorPartitions, weights }) => Layer.mergeAll(
    Layer.provideMerge(FailedEvents.layer, Layer.provide(Events.layer({ visitorPartitions }), layerAdmission(weights === undefined ? {} : { weights }))),
    Replays.layer({ visitorPartitions }),
    SearchServed.layer({ visitorPartitions })
  ))),
  expiries: [expireRejections]
})
