// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import ServiceKit

/// The provider token that a sender would use now, read from its topic, because the operator's command has no signing
/// keys.
enum CurrentProviderToken {
  /// Returns the `authorization` value for an app in an environment. Throws if there is no usable token, or if Kafka
  /// does not respond in time.
  static func authorization(
    app: String, _ environment: Environment, _ settings: ClusterSettings, _ seal: TokenSeal,
    _ timeLimit: TimeLimit, _ context: ServiceContext
  ) throws(ServiceFailure) -> String {
    let cluster = try KafkaCluster(settings.kafka, context, timeLimit: timeLimit)
    cluster.admin.close()
    let topic = settings.names.providerTokens
    var book = ProviderTokenBook()
    let found = try orFail {
      try follow(topic, cluster.configuration, seal, timeLimit, into: &book, context)
    }
    guard let problems = found else {
      if context.signals.isStopping {
        throw context.signals.interrupted("\(topic) was not read to its end; no request was sent")
      }
      throw ServiceFailure("\(topic) was not read to its end in time; increase --timeout")
    }
    let now = WallClock.milliseconds()
    if let problem = problems.first {
      context.log(OperatorLog.tokenUnreadable, ["error": "\(problem)"])
    }
    guard let index = book.resolve(appHash: AppHash.of(app.utf8.span), environment: environment)
    else {
      if let problem = problems.first { throw ServiceFailure("\(problem)") }
      throw ServiceFailure(
        "no credential of martlet-signer serves \(app) in \(environment); its credentials file names"
          + " the apps of each key. Or pass --client-certificate")
    }
    guard book.isUsable(index, now: now) else {
      throw ServiceFailure(
        "the provider token of \(book.entries[index].credential) is older than 55 minutes, or dated in the"
          + " future; is martlet-signer running, and do the clocks agree?")
    }
    return "bearer " + String(decoding: book.entries[index].token, as: UTF8.self)
  }

  /// Reads the topic to its end.
  ///
  /// - Returns: The reasons why tokens could not be opened; nil if time ran out before the end of the topic.
  ///
  /// Throws when the topic does not exist or may not be read.
  private static func follow(
    _ topic: String, _ configuration: KafkaConfiguration, _ seal: TokenSeal,
    _ timeLimit: TimeLimit, into book: inout ProviderTokenBook, _ context: ServiceContext
  ) throws -> [TokenSealProblem]? {
    let table = try KafkaTable(configuration, topic: topic)
    defer { table.close() }
    let parser = JSONParser()
    // The newest record of each credential counts; a table may also deliver older ones.
    var problems: [String: TokenSealProblem] = [:]
    var updates: [ProviderTokenBook.Update] = []
    while !table.isCaughtUp && timeLimit.left > 0 && !context.signals.isStopping {
      table.poll(timeoutMilliseconds: 50) { key, value in
        let name = String(decoding: key, as: UTF8.self)
        guard let value else {
          guard seal.trustsPlain else { return }
          problems[name] = nil
          return updates.append(.lost(credential: name))
        }
        // Invalid records are the signer's concern.
        guard let record = try? ProviderTokenRecord(value, key: name, parser: parser) else {
          return
        }
        do throws(TokenSealProblem) {
          let opened = try seal.opened(record)
          updates.append(opened.isRemoved ? .removed(credential: name) : .token(opened.entry))
          problems[name] = nil
        } catch {
          problems[name] = error
        }
      }
      if let refusal = table.lastError?.refusal(toRead: topic) { throw ServiceFailure(refusal) }
    }
    guard table.isCaughtUp else { return nil }
    let now = WallClock.milliseconds()
    for update in updates { _ = book.apply(update, now: now) }
    return Array(problems.values)
  }
}
