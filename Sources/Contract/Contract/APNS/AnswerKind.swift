// SPDX-License-Identifier: Apache-2.0

/// The id in an answer's header fields (`apns-id`; for broadcasts `apns-request-id`), compared with the one sent.
public enum AnswerID: UInt8, Sendable, CaseIterable {
  /// No id: APNs does not answer like this.
  case none
  /// Another id than the one sent.
  case other
  /// The id sent; letter case does not matter.
  case sent
}

public enum AnswerBody: Equatable, Sendable {
  /// No JSON with a `reason`: empty, HTML, or truncated.
  case nothing
  /// A `reason` without a row in `ReasonRule.table`: APNs may add some.
  case otherReason
  case reason(Reason)
}

/// The class of an answer. Proxies, load balancers and captive portals use the same statuses, but their answers are no
/// evidence about a push, its device token or a credential. APNs' answers carry an id, and its refusals a JSON `reason`
/// (Apple, "Handling notification responses from APNs").
public enum AnswerKind: Equatable, Sendable {
  /// APNs accepted the push.
  case accepted
  /// APNs refused it; the row of the reason decides.
  case refused(Reason)
  /// APNs refused it for an unknown reason; the status decides.
  case refusedOtherwise
  /// Not from APNs, or about another push: a failure of the network path, which concerns the address.
  case foreign

  /// The classes by status, id and body.
  ///
  /// | id | status | body | counts as |
  /// | --- | --- | --- | --- |
  /// | none | any | any | foreign |
  /// | sent, other | 200 | any | accepted: the stream says which push it is about |
  /// | sent | 400…599 | known reason | refused, whatever the status |
  /// | sent | 400…599 | other reason | refused otherwise |
  /// | other | 400…599 | `BadMessageId` | refused: APNs could not read ours |
  /// | other | 400…599 | else | foreign: it may be about another push, and its device |
  /// | sent, other | 400…599 | no reason | foreign |
  /// | sent, other | else | any | foreign: APNs gives no such answer |
  public init(status: UInt16, id: AnswerID, body: AnswerBody) {
    self =
      switch (id, status, body) {
      case (.none, _, _): .foreign
      case (_, 200, _): .accepted
      case (.sent, 400...599, .reason(let reason)): .refused(reason)
      case (.sent, 400...599, .otherReason): .refusedOtherwise
      case (.other, 400...599, .reason(.badMessageId)): .refused(.badMessageId)
      default: .foreign
      }
  }
}
