// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Kafka
import Records
import ServiceKit

/// The credentials file and the token key are read again while the signer works.
extension SignerWorker {
  /// How long a credential that is gone from the file waits for its successor's token, in milliseconds.
  static let withdrawalPatience: UInt64 = 30_000

  /// Reads the files again. What cannot be used leaves everything as it was.
  func reload(_ now: UInt64) {
    let hasKey = rereadTokenKey()
    let hasCredentials = rereadCredentials(now)
    // The topic may know a token of a credential that is new to us, or one that can be opened now.
    if hasKey || hasCredentials, isOwner { readTableAnew() }
  }

  /// - Returns: whether there is a key, and its file could be used.
  private func rereadTokenKey() -> Bool {
    do throws(TokenSealProblem) {
      guard let read = try seal.reread() else { return false }
      seal = read
      log.info("token key reloaded")
      return true
    } catch {
      log.error("invalid token key file; keeping the previous keys", ["error": "\(error)"])
      return false
    }
  }

  /// - Returns: whether the file could be used.
  private func rereadCredentials(_ now: UInt64) -> Bool {
    let credentials: [Credential]
    do throws(CredentialsError) {
      credentials = try CredentialsFile.load(settings.credentialsPath)
    } catch {
      log.error("invalid credentials file; keeping the previous credentials", ["error": "\(error)"])
      return false
    }
    files = CredentialsWatch(settings.credentialsPath, credentials, seal)
    let gone = issuer.replace(credentials)
    log.info("credentials reloaded", ["count": "\(credentials.count)"])
    unknownApps = []
    withdrawBy = now + Self.withdrawalPatience
    if isOwner, !gone.isEmpty {
      log.info(
        "removed credentials are withdrawn when their successors are published",
        ["count": "\(gone.count)"])
    }
    return true
  }

  /// Takes credentials that are not in the file off the topic, once all that are in it have their tokens there: so a
  /// sender always knows one that it may use. Only the owner speaks for the topic; a stand-by reads the same file.
  func withdraw(_ now: UInt64) {
    guard issuer.hasUnlisted, let table, table.isCaughtUp, now >= mintNotBefore else { return }
    guard issuer.isSettled(now: WallClock.seconds()) || now >= withdrawBy else { return }
    for credential in issuer.takeUnlisted() {
      if withdraw(credential) {
        log.info("credential withdrawn", ["credential": credential])
      } else {
        issuer.notWithdrawn(credential)
      }
    }
  }

  /// Has the tokens' topic read from its beginning: what counts is what stands there.
  func readTableAnew() {
    table?.close()
    table = nil
    issuer.startOver()
  }
}
