/** For authors of an engine, or of tests with one: the suite that every engine must pass, and builders of its input. */
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
