/**
 * What a room keeps of a person goes when the person is erased: the room says here how, and whoever erases one asks all
 * of them. Rooms do not know each other for that. What is kept of events goes by its own way (`streams/erasure`).
 */
import { Context, Effect, Layer } from "effect"

/** `userId`: as events carry it. */
type Erase = (organizationId: string, userId: string) => Effect.Effect<void>

export class PersonErasures extends Context.Service<
  PersonErasures,
  {
    readonly register: (erase: Erase) => Effect.Effect<void>
    /** One room after the other, in the order in which they came. */ readonly erased: Erase
  }
>()("dowser/identity/PersonErasures") {
  static readonly layer = Layer.sync(PersonErasures, () => {
    const owners: Array<Erase> = []
    return PersonErasures.of({
      register: (erase) =>
        Effect.sync(() => {
          owners.push(erase)
        }),
      erased: (organizationId, userId) =>
        Effect.forEach(owners, (erase) => erase(organizationId, userId), { discard: true })
    })
  })
}
