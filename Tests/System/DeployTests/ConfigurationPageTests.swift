// SPDX-License-Identifier: Apache-2.0
import Testing

/// The page about settings is made from the settings.
@Suite struct ConfigurationPageTests {
  @Test func `the page in docs is what the programs declare`() throws {
    try DeployedFiles.expectPage("configuration.md", ConfigurationPage.text)
  }
}
