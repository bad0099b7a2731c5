/** Handlers of documents. */
import * as engine from "@dowser/engine-sdk/operations"
import { Effect } from "effect"
import { implement } from "../../api/implement.ts"
import { answering, streaming } from "../../engine-plane/engine-plane.ts"
import { deletable, writable } from "../../engine-plane/reached.ts"
import * as contract from "../contract.ts"
import type { Handling, In, InCollection } from "./handling.ts"

type OfDocument = In<{ readonly collectionName: string; readonly documentId: string }>

export const documentRoutes = ({ inCollection, own, plain, within }: Handling) => {
  const writing = (input: InCollection) => writable(own(input), input.caller, input.params.collectionName)
  const deleting = (input: InCollection) => deletable(own(input), input.caller, input.params.collectionName)
  const indexed = inCollection((context, { params, search }, text) =>
    engine.createDocument(context, params.collectionName, text, search)
  )
  const updated = inCollection((context, { params, search }: OfDocument, text) =>
    engine.updateDocument(context, params.collectionName, params.documentId, text, search)
  )
  const deleted = plain((context, { params, search }: OfDocument) =>
    engine.deleteDocument(context, params.collectionName, params.documentId, search)
  )
  const updatedAll = (restrictions: engine.Restrictions) =>
    inCollection((context, { params, search }, text) =>
      engine.updateDocuments(context, params.collectionName, text, search, restrictions)
    )

  return [
    implement(contract.indexDocument, (input) => Effect.andThen(writing(input), indexed(input))),
    implement(contract.importDocuments, (input) =>
      Effect.flatMap(Effect.andThen(writing(input), input.stream), (stream) =>
        streaming(
          engine.importDocuments(own(input), input.params.collectionName, stream, input.search, input.held()),
          input.held()
        )
      )
    ),
    implement(contract.exportDocuments, (input) =>
      within(input, (context, caller) =>
        Effect.suspend(() =>
          streaming(engine.exportDocuments(context, input.params.collectionName, input.search, caller), input.held())
        )
      )
    ),
    implement(contract.getDocument, (input) =>
      within(input, (context, caller) =>
        answering(() =>
          engine.getDocument(context, input.params.collectionName, input.params.documentId, input.search, caller)
        )
      )
    ),
    implement(contract.updateDocument, (input) => Effect.andThen(writing(input), updated(input))),
    implement(contract.deleteDocument, (input) => Effect.andThen(deleting(input), deleted(input))),
    implement(contract.updateDocuments, (input) =>
      Effect.andThen(
        writing(input),
        within(input, (_context, caller) => updatedAll(caller)(input))
      )
    ),
    implement(contract.deleteDocuments, (input) =>
      Effect.andThen(
        deleting(input),
        within(input, (context, caller) =>
          answering(() => engine.deleteDocuments(context, input.params.collectionName, input.search, caller))
        )
      )
    )
  ]
}
