// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import ServiceKit
import SignerDecisions

/// The credentials file and the token key are read again while the signer works.
extension SignerWorker {
  /// The files by their names in `SignerMetrics.reloadRefused`.
  static let credentialsFile = "credentials"
  static let tokenKeyFile = "token-key"

  /// The files whose change is noticed without a signal.
  static func paths(
    _ settings: SignerSettings, _ credentials: [Credential], _ seal: TokenSeal
  ) -> [String] {
    [settings.credentialsPath] + credentials.map(\.keyPath) + (seal.path.map { [$0] } ?? [])
  }

  /// Reads the files again. What cannot be used leaves everything as it was.
  ///
  /// - Parameter isAsked: an operator's signal.
  func reload(_ now: UInt64, isAsked: Bool) {
    files.begin()
    let isKeyDue = reloads.isDue(Self.tokenKeyFile, files, isAsked: isAsked)
    let hasKey = isKeyDue && rereadTokenKey(now, isAsked)
    let areCredentialsDue = reloads.isDue(Self.credentialsFile, files, isAsked: isAsked)
    let hasCredentials = areCredentialsDue && rereadCredentials(now, isAsked)
    // The topic may know a token of a credential that is new to us, or one that can be opened now.
    if hasKey || hasCredentials, issuer.machine.isOwner { readTableAnew() }
  }

  /// - Returns: whether there is a key, and its file could be used.
  private func rereadTokenKey(_ now: UInt64, _ isAsked: Bool) -> Bool {
    do throws(TokenSealProblem) {
      guard let read = try seal.reread() else { return false }
      seal = read
      reloads.accepted(Self.tokenKeyFile)
      log(SignerLog.tokenKeyReloaded)
      return true
    } catch {
      files.retry(now: now)
      if reloads.refused(Self.tokenKeyFile, "\(error)", now: now, isAsked: isAsked) {
        log(SignerLog.tokenKeyInvalid, ["error": "\(error)"])
      }
      return false
    }
  }

  /// - Returns: whether the file could be used.
  private func rereadCredentials(_ now: UInt64, _ isAsked: Bool) -> Bool {
    let credentials: [Credential]
    do throws(CredentialsError) {
      credentials = try CredentialsFile.load(settings.credentialsPath)
    } catch {
      files.retry(now: now)
      if reloads.refused(Self.credentialsFile, "\(error)", now: now, isAsked: isAsked) {
        log(SignerLog.credentialsInvalid, ["error": "\(error)"])
      }
      return false
    }
    files.follow(Self.paths(settings, credentials, seal))
    guard keepsApps(credentials, now, isAsked) else { return false }
    let gone = issuer.replace(credentials, now: now)
    log(SignerLog.credentialsReloaded, ["count": "\(credentials.count)"])
    logThrottle.forgetUnknown()
    if issuer.machine.isOwner, !gone.isEmpty {
      log(SignerLog.withdrawalPlanned, ["count": "\(gone.count)"])
    }
    return true
  }

  /// Whether every app that is served now stays so: a key that was exchanged or an entry that was lost by mistake would
  /// stop an app, and nothing but its waiting notifications would say so.
  private func keepsApps(_ credentials: [Credential], _ now: UInt64, _ isAsked: Bool) -> Bool {
    let (before, after) = (issuer.coverage, Credential.coverage(credentials))
    let lost = before.lost(in: after)
    guard lost.isEmpty else {
      let names = lost.joined(separator: ", ")
      if reloads.refused(Self.credentialsFile, names, taking: lost, now: now, isAsked: isAsked) {
        log(
          SignerLog.credentialsRefused,
          [
            "apps": names, "file": settings.credentialsPath,
            "remedy": "list a key for the app, or restart the signers to let it go",
          ])
      }
      return false
    }
    reloads.accepted(Self.credentialsFile)
    let moved = before.moved(in: after)
    if !moved.isEmpty { log(SignerLog.teamChanged, ["apps": moved.joined(separator: ", ")]) }
    return true
  }

  /// Takes credentials that are not in the file off the topic, once all that are in it have their tokens there: so a
  /// sender always knows one that it may use. Only the owner speaks for the topic; a stand-by reads the same file.
  func withdraw(_ now: UInt64) {
    guard mayWrite(now) else { return }
    for credential in issuer.machine.drainUnlisted(wall: WallClock.seconds(), now: now) {
      if !withdraw(credential) { issuer.machine.notWithdrawn(credential) }
    }
  }

  /// Has the tokens' topic read from its beginning: what counts is what stands there.
  func readTableAnew() {
    table?.close()
    table = nil
    issuer.startOver()
  }
}
