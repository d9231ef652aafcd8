// SPDX-License-Identifier: Apache-2.0
import Testing

@Suite struct ReasonsPageTests {
  @Test func `the page of reasons is what the decision table says`() throws {
    try DeployedFiles.expectPage("reasons.md", ReasonsPage.text)
  }
}
