// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
public import Records
public import Settings

/// Why a sealed provider token cannot be used, and what to do. Names no secret.
public struct TokenSealProblem: Error, Equatable, Sendable, CustomStringConvertible {
  public let description: String
}

/// Keeps provider tokens secret on their topic, where a deployment has a key for that (`--token-key`).
///
/// A process without a key reads plain tokens. One with a key reads what its keys have sealed, and nothing else: a plain
/// record could be anybody's. While a fleet is on its way from plain to sealed tokens, a line `plain` in the key file
/// of the senders lets them read both.
public struct TokenSeal: Sendable {
  private let keys: TokenKeys?
  /// The file that the keys were read from; nil without any.
  public let path: String?

  /// Without a key: tokens are published and read as they are.
  public static let none = TokenSeal(keys: nil, path: nil)

  private init(keys: TokenKeys?, path: String?) {
    self.keys = keys
    self.path = path
  }

  /// Reads the file that the setting names. Throws when it cannot be used.
  public init(_ values: SettingValues) throws(SettingErrors) {
    path = values[CommonSettings.tokenKey]
    guard let path else {
      keys = nil
      return
    }
    keys = try values.orError(CommonSettings.tokenKey.name) { try TokenKeys.load(path) }
  }

  /// The seal with the file's present keys; nil without a file. Throws when it cannot be used.
  public func reread() throws(TokenSealProblem) -> TokenSeal? {
    guard let path else { return nil }
    do throws(SigningError) {
      return TokenSeal(keys: try TokenKeys.load(path), path: path)
    } catch {
      throw TokenSealProblem(description: error.description)
    }
  }

  public var isSealing: Bool { keys != nil }
  /// True if tokens that are not sealed are believed: there is no key, or a fleet is on its way to one.
  public var trustsPlain: Bool { keys?.acceptsPlain ?? true }

  /// The record as it is published.
  public func sealed(
    _ record: ProviderTokenRecord
  ) throws(TokenSealProblem) -> ProviderTokenRecord {
    guard let keys else { return record }
    var record = record
    do throws(SigningError) {
      record.sealed = try keys.seal(Array(record.token.utf8), context: Self.context(record))
    } catch {
      throw TokenSealProblem(description: "the provider token of \(record.credential): \(error)")
    }
    record.token = ""
    return record
  }

  /// The record with its token. Throws when the key is missing, is another one, the record was tampered with, or is
  /// plain where it has to be sealed.
  ///
  /// - Parameter trustsPlain: true for a signer, which checks signatures by itself.
  public func opened(
    _ record: ProviderTokenRecord, trustsPlain: Bool = false
  ) throws(TokenSealProblem) -> ProviderTokenRecord {
    let subject = "the provider token of \(record.credential)"
    guard let sealed = record.sealed else {
      guard let keys, !keys.acceptsPlain, !trustsPlain else { return record }
      throw TokenSealProblem(
        description:
          "\(subject) is not sealed, so anybody may have written it; give the signers --token-key, and until they"
          + " add a line plain to this process's key file")
    }
    guard let keys else {
      let id = TokenKeys.keyID(of: sealed) ?? "unknown"
      throw TokenSealProblem(
        description:
          "\(subject) is sealed with key \(id); give --token-key with the file that the signer has")
    }
    var record = record
    do throws(SigningError) {
      let token = try keys.open(sealed, context: Self.context(record))
      record.token = String(decoding: token, as: UTF8.self)
    } catch {
      throw TokenSealProblem(
        description:
          "\(subject) \(error); give --token-key with the file that the signer has, and let only"
          + " signers write to the tokens' topic")
    }
    record.sealed = nil
    guard record.hasPlausibleToken else {
      throw TokenSealProblem(description: "\(subject) has a character that no JWT has")
    }
    return record
  }

  /// The context that a sealed token is bound to: it opens in no other credential's record, in no later one, and in
  /// none that gives it to other apps.
  private static func context(_ record: ProviderTokenRecord) -> [UInt8] {
    var lines = [
      record.credential, "\(record.generation)", "\(record.issuedAt)", record.teamID, record.keyID,
      record.scope.rawValue,
    ]
    // With their lengths, so that no two lists look alike.
    for app in record.apps { lines.append("\(app.utf8.count) \(app)") }
    if record.isRemoved { lines.append("removed") }
    return Array(lines.joined(separator: "\n").utf8)
  }
}
