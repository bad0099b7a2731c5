/** The fields of a collection that holds what was said in conversations. */
export const talkFields = [
  ...["conversation_id", "role", "message", "model_id"].map((name) => ({ name, type: "string" })),
  { name: "timestamp", type: "int32" }
]
