/** How good a ranking is: measures against judgments. */
export * from "./measures.ts"
