// The last line of a test run: `N passed, N failed, N skipped`, and before it every skipped lane by name with its
// reason. Unhandled rejections and files that failed to load count as failures: a broken import cannot look green.
export default class PlainReporter {
  onTestRunEnd(modules, unhandled) {
    let passed = 0,
      failed = unhandled.length,
      skipped = 0
    const reasons = new Map()
    const visit = (suite) => {
      failed += suite.errors().length
    }
    for (const module of modules) {
      failed += module.errors().length
      for (const suite of module.children.allSuites()) visit(suite)
      for (const test of module.children.allTests()) {
        const result = test.result()
        if (result.state === "passed") passed++
        else if (result.state === "failed") failed++
        else {
          skipped++
          const reason = result.note ?? "skipped in its file"
          reasons.set(
            `${module.relativeModuleId ?? module.moduleId}: ${reason}`,
            (reasons.get(`${module.relativeModuleId ?? module.moduleId}: ${reason}`) ?? 0) + 1
          )
        }
      }
    }
    if (modules.length === 0) process.exitCode = 1
    process.stderr.write("\n")
    for (const [reason, count] of reasons) process.stdout.write(`SKIPPED LANE (${count}) ${reason}\n`)
    process.stdout.write(`${passed} passed, ${failed} failed, ${skipped} skipped\n`)
  }
}
