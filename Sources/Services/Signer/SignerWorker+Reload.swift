// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Kafka
import Records
import ServiceKit

/// The credentials file and the token key are read again while the signer works.
extension SignerWorker {
  /// How long a credential that is gone from the file waits for its successor's token, in milliseconds.
  private static let withdrawalPatience: UInt64 = 30_000

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
      log.info("token key read again")
      return true
    } catch {
      log.error("keeping the token key as it is", ["error": "\(error)"])
      return false
    }
  }

  /// - Returns: whether the file could be used.
  private func rereadCredentials(_ now: UInt64) -> Bool {
    let credentials: [Credential]
    do throws(CredentialsError) {
      credentials = try CredentialsFile.load(settings.credentialsPath)
    } catch {
      log.error("keeping the credentials as they are", ["error": "\(error)"])
      return false
    }
    files = CredentialsWatch(settings.credentialsPath, credentials, seal)
    let gone = desk.replace(credentials)
    log.info("credentials read again", ["count": "\(credentials.count)"])
    unknownApps = []
    withdrawn.removeAll { id in credentials.contains { $0.id == id } }
    // Only the owner speaks for the topic; a stand-by reads the same file.
    guard isOwner else { return true }
    withdrawn += gone
    withdrawBy = now + Self.withdrawalPatience
    return true
  }

  /// Takes credentials that are gone off the topic, once their successors' tokens are on it: so a sender
  /// always knows one that it may use.
  func withdraw(_ now: UInt64) {
    guard !withdrawn.isEmpty, let table, table.isCaughtUp else { return }
    guard desk.isSettled(now: WallClock.seconds()) || now >= withdrawBy else { return }
    for id in withdrawn {
      _ = publish(Array(id.utf8), nil, nil)
      log.info("credential withdrawn", ["credential": id])
    }
    withdrawn = []
  }

  /// Publishes the current token again where the file gives its credential other apps than the topic does:
  /// a new token may not be due for most of an hour.
  func publishChangedApps() {
    guard let table, table.isCaughtUp else { return }
    while let record = desk.changedApps() {
      guard publish(record) else {
        return desk.answered(record, isStored: false)
      }
    }
  }

  /// Has the tokens' topic read from its beginning: what counts is what stands there.
  func readTableAnew() {
    table?.close()
    table = nil
    desk.startOver()
  }
}
