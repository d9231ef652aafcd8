// SPDX-License-Identifier: Apache-2.0
import APNS
import ServiceKit
import Settings
import Store

/// The database of device tokens, and the apps and environments that a command is about: the settings of `martlet tokens`.
struct TokenSelection: DeclaredSettings, Sendable {
  @Declared(CommandSettings.tokens) var database: String
  @Declared(CommandSettings.app) private(set) var app: String?
  @Declared(CommandSettings.environment) private var environmentName: String?

  /// nil: both.
  var environment: Environment? { environmentName.flatMap { Environment($0) } }

  func takes(_ app: String, _ environment: Environment) -> Bool {
    (self.app ?? app) == app && (self.environment ?? environment) == environment
  }

  /// Asks the database, which has to be complete for as long as that takes.
  func whileComplete<Result>(
    _ body: (TokenStoreReader) throws(StoreError) -> Result
  ) throws(ServiceFailure) -> Result {
    try read { reader throws(StoreError) in
      try reader.whileComplete { () throws(StoreError) in try body(reader) }
    }
  }

  func read<Result>(
    _ body: (TokenStoreReader) throws(StoreError) -> Result
  ) throws(ServiceFailure) -> Result {
    do throws(StoreError) { return try body(TokenStoreReader(database)) } catch {
      throw ServiceFailure("\(error)")
    }
  }
}
