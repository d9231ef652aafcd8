// SPDX-License-Identifier: Apache-2.0
import Contract
import ServiceKit
import Settings
import Store

/// The settings of `martlet tokens`: the database of device tokens, and the apps and environments.
struct TokenSelection: DeclaredSettings, Sendable {
  @Declared(CommandSettings.tokens) var database: String
  @Declared(CommandSettings.app) private(set) var app: String?
  @Declared(CommandSettings.environment) private var environmentName: String?

  /// The environment; nil for both.
  var environment: Environment? { environmentName.flatMap { Environment($0) } }

  func takes(_ app: String, _ environment: Environment) -> Bool {
    (self.app ?? app) == app && (self.environment ?? environment) == environment
  }

  /// Queries the database, which must stay complete for the duration.
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
    try orFail { try body(TokenStoreReader(database)) }
  }
}
