// SPDX-License-Identifier: Apache-2.0
package import Records
package import Settings
import Signing

/// Why a sealed provider token cannot be used, and what to do. Names no secret.
package struct TokenSealProblem: Error, Equatable, Sendable, CustomStringConvertible {
  package let description: String
}

/// Keeps provider tokens secret on their topic, where a deployment has a key for that (`--token-key`).
///
/// A process with a key reads sealed and plain tokens, one without a key reads plain ones: so first the
/// senders get the key, then the signers.
package struct TokenSeal: Sendable {
  private let keys: TokenKeys?
  /// Where the keys were read; nil without any.
  package let path: String?

  /// Without a key: tokens are published and read as they are.
  package static let none = TokenSeal(keys: nil, path: nil)

  private init(keys: TokenKeys?, path: String?) {
    self.keys = keys
    self.path = path
  }

  /// Reads the file that the setting names. Throws when it cannot be used.
  package init(_ values: SettingValues) throws(SettingErrors) {
    path = values.optionalText(CommonSettings.tokenKey.name)
    guard let path else {
      keys = nil
      return
    }
    do throws(SigningError) {
      keys = try TokenKeys.load(path)
    } catch {
      throw values.error(CommonSettings.tokenKey.name, error.description)
    }
  }

  /// What the file holds now; nil without a file. Throws when it cannot be used.
  package func reread() throws(TokenSealProblem) -> TokenSeal? {
    guard let path else { return nil }
    do throws(SigningError) {
      return TokenSeal(keys: try TokenKeys.load(path), path: path)
    } catch {
      throw TokenSealProblem(description: error.description)
    }
  }

  /// The record as it is published.
  package func sealed(
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

  /// The record with its token. Throws when the key is missing, is another one, or the record was tampered with.
  package func opened(
    _ record: ProviderTokenRecord
  ) throws(TokenSealProblem) -> ProviderTokenRecord {
    guard let sealed = record.sealed else { return record }
    let subject = "the provider token of \(record.credential)"
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

  /// What a sealed token is bound to: it opens in no other credential's record and in no later one.
  private static func context(_ record: ProviderTokenRecord) -> [UInt8] {
    Array("\(record.credential)\n\(record.generation)\n\(record.issuedAt)".utf8)
  }
}
