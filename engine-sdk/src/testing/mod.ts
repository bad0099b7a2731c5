/** For authors of an engine, or of tests with one: the suite that every engine must pass, and builders of input. */
export { engineSuite, type EngineUnderTest, type SuiteFramework } from "./engine-suite.ts"
export { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "./suite-values.ts"
export { suiteVector, vectorSuite } from "./vector-suite.ts"
