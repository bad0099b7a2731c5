/** What embeds texts: the model of this program, once it is installed, and those that the operator named. */
import { Effect, Layer } from "effect"
import { Models } from "../models/models.ts"
import { layerLocalModels } from "../ports/text-embedder/inference/local-embedder.ts"
import { miniLm } from "../ports/text-embedder/minilm/model.ts"
import { type OperatorModel, operatorModel } from "../ports/text-embedder/operator/models-file.ts"

export const layerTextEmbedder = (own: ReadonlyArray<OperatorModel>) =>
  Layer.unwrap(
    Effect.map(Models, ({ installed }) =>
      layerLocalModels([miniLm({ installed }), ...own.map((each) => operatorModel(each, installed))])
    )
  )
