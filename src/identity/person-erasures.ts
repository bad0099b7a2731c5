/**
 * When a person is erased, everything that rooms store about the person is deleted: rooms register here how, and an
 * erasure calls them all, so that rooms do not depend on each other. Derived data: see `streams/erasure`.
 */
import { Context, Effect, Layer } from "effect"

/** `userId` is as in events. */
type Erase = (organizationId: string, userId: string) => Effect.Effect<void>

export class PersonErasures extends Context.Service<
  PersonErasures,
  {
    readonly register: (erase: Erase) => Effect.Effect<void>
    /** Calls the rooms one after the other, in order of registration. */ readonly erased: Erase
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
