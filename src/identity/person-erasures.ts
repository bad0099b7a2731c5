/**
 * Everything a room keeps of a person is deleted when the person is erased: rooms register here how, and an erasure
 * calls them all, so that rooms need not know each other. Data derived from events has its own way (`streams/erasure`).
 */
import { Context, Effect, Layer } from "effect"

/** `userId`: as events carry it. */
type Erase = (organizationId: string, userId: string) => Effect.Effect<void>

export class PersonErasures extends Context.Service<
  PersonErasures,
  {
    readonly register: (erase: Erase) => Effect.Effect<void>
    /** One room after the other, in order of registration. */ readonly erased: Erase
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
