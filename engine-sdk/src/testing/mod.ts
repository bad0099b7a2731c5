/** For whoever writes an engine, or tests with one: the suite every engine must pass, and builders of what it takes. */
export {
  engineSuite,
  putOf,
  suiteField,
  suitePlan,
  suiteSchema,
  suiteText,
  type EngineUnderTest,
  type SuiteFramework
} from "./engine-suite.ts"
export { suiteVector, vectorSuite } from "./vector-suite.ts"
