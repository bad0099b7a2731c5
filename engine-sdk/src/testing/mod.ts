/** For whoever writes an engine, or tests with one: the suite every engine must pass, and builders of what it takes. */
export { engineSuite, type EngineUnderTest, type SuiteFramework } from "./engine-suite.ts"
export { putOf, suiteField, suitePlan, suiteSchema, suiteText } from "./suite-values.ts"
export { suiteVector, vectorSuite } from "./vector-suite.ts"
