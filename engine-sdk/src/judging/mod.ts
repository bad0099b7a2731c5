/** How good a ranking is: measures against judgments, and judgments from what visitors took. */
export * from "./clicked-grades.ts"
export * from "./measures.ts"
